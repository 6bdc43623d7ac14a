"""What the benches share: programs of the build, servers on a CPU, and peers to compare with."""
import os
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
  open_file_cache max=10000; open_file_cache_valid 600s;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}/www; }}
}}
"""


def find(name):
    """A program of the build, the optimised one first; None when it is not built."""
    for preset in ("release", "dev"):
        path = os.path.join(ROOT, "build", preset, name)
        if os.access(path, os.X_OK):
            return path
    return None


def fail(words):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {words}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pin_to(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


def as_root():
    """The switch that memcached, and numastore like it, want from root."""
    return ["-u", "root"] if os.getuid() == 0 else []


def start_server(command, cpu, port):
    server = subprocess.Popen(command, preexec_fn=pin_to(cpu), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(3000):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.01)
    server.kill()
    return fail(f"{' '.join(command)} does not answer on port {port}")


def start_memcached(cpu, mib=256):
    port = free_port()
    return port, start_server(["memcached", *as_root(), "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-m", str(mib),
                               "-t", "1"], cpu, port)


def start_nginx(cpu, folder, files, size):
    """@files: names of files of @size bytes that it serves"""
    port = free_port()
    os.mkdir(f"{folder}/www")
    for name in files:
        with open(f"{folder}/www/{name}", "wb") as file:
            file.write(b"x" * size)
    os.chmod(folder, 0o755)
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as file:
        file.write(NGINX.format(folder=folder, port=port))
    return port, start_server(["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"], cpu, port)


def store(port, prefix, keys, size):
    """Over memcache, a hundred in flight."""
    value = b"x" * size
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as replies:
        for first in range(0, keys, 100):
            batch = range(first, min(first + 100, keys))
            connection.sendall(b"".join(b"set %s%d 0 0 %d\r\n%s\r\n" % (prefix.encode(), key, size, value)
                                        for key in batch))
            for _ in batch:
                if replies.readline() != b"STORED\r\n":
                    fail("an object was not stored")


def memcached_stats(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"stats\r\nquit\r\n")
        return dict(line.split()[1:3] for line in connection.makefile() if line.startswith("STAT "))
