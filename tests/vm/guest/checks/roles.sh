# shellcheck shell=dash disable=SC2154 # pid is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Whole services: a memcached beside the card and two clients on the next tier.

roles=/tmp/roles.ini

# A client asks the server for its version, says so, and holds.
cat >/tmp/client.sh <<'END'
printf 'version\r\nquit\r\n' | nc 127.0.0.1 11211
exec where --hold
END

write_service() {
	cat >"$roles" <<'END'
[role client]
near = eth0
tier = 2
count = 1
instances = 2
avoid = cache
after = cache
command = sh /tmp/client.sh
stop = TERM, 1

[role cache]
near = eth0
count = 1
mem = bind:2
ready = tcp:127.0.0.1:11211, 30
stop = TERM, 1
command = memcached -u root -t 2 -m 16 -U 0
	-l 127.0.0.1 -p 11211
END
}

clients_hold() {
	[ "$(grep -c '^client\.[12]: holding$' "$TMP/out")" -eq 2 ]
}

start_service() {
	write_service
	start numarun --roles "$roles"
	expect_soon "both clients to hold" clients_hold
}

# The policies that numa_maps shows, each once.
policies_of() { # PID
	cut -d ' ' -f 2 "/proc/$1/numa_maps" | sort -u | xargs
}

# That numarun ended of a signal, that all that it started is gone, and how long that took.
expect_all_stopped() { # SIGNAL STATUS
	local begin took

	begin=$(now_cs)
	release "$1"
	took=$(($(now_cs) - begin))
	expect_status "$2"
	expect_gone memcached where nc
	echo "all stopped after $took/100 s"
	expect_equal "stopped within 2 s" yes "$([ "$took" -le 200 ] && echo yes || echo "$took/100 s")"
}

roles_are_gone() {
	[ -z "$(pids_of memcached where)" ]
}

check "a memcached and its clients run where the plan says, seen from outside"
	write_service
	run numarun --roles "$roles" --dry-run
	expect_equal "planned CPUs, in the order of starting" "4 2 3" \
		"$(sed -n 's/^ *"cpus": "\(.*\)",$/\1/p' "$TMP/out" | xargs)"
	start_service
	cache=$(pids_of memcached)
	expect_equal "CPUs of memcached's threads" 4 "$(cpus_of_threads "$cache")"
	expect_equal "more than three threads of it" yes \
		"$([ "$(find "/proc/$cache/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 3 ] && echo yes)"
	expect_equal "policy in memcached's numa_maps" bind:2 "$(policies_of "$cache")"
	expect_line "client.1: cpus: 2"
	expect_line "client.2: cpus: 3"
	expect_line "client.1: policy: local"
	expect_stdout_match "^client\.1: VERSION 1\."
	expect_stdout_match "^client\.2: VERSION 1\."
	expect_equal "CPUs of the clients" "2 3" \
		"$(for client in $(pidof where); do cpus_of_threads "$client"; done | sort | xargs)"
	expect_all_stopped TERM 143

check "an interrupt stops the whole service within two seconds"
	start_service
	expect_all_stopped INT 130

check "a client that fails stops the server, and its status is passed on"
	write_service
	echo 'sleep 0.2; exit 3' >/tmp/failing.sh
	sed -i 's/client\.sh/failing.sh/' "$roles"
	run numarun --roles "$roles"
	expect_status 3
	expect_stderr "^numarun: client\.[12]: failed: exit status 3"
	expect_gone memcached

check "a server that is killed stops its clients"
	start_service
	kill -KILL "$(pidof memcached)"
	expect_soon "numarun to end" ended "$pid"
	release KILL
	expect_status 137
	expect_stderr "^numarun: cache: failed: killed by signal 9"
	expect_gone memcached where

check "clients that are done end the service"
	write_service
	sed -i 's/sh .*client\.sh/true/' "$roles"
	run numarun --roles "$roles"
	expect_status 0
	expect_no_stderr
	expect_gone memcached

check "a role that never gets ready is told in one line, and nothing is left"
	write_service
	sed -i 's/^ready = .*/ready = tcp:127.0.0.1:1, 1/' "$roles"
	run numarun --roles "$roles"
	expect_status 125
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "^numarun: cache: not ready after 1 s \(tcp:127\.0\.0\.1:1\)"
	expect_gone memcached where

check "a program that is not there is told in one line, and nothing is left"
	write_service
	sed -i 's/sh .*client\.sh/no-such-program/' "$roles"
	run numarun --roles "$roles"
	expect_status 127
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "^numarun: client\.[12]: no-such-program: program not found"
	expect_gone memcached

check "what a role has put into the background ends with the service"
	cat >"$roles" <<-'END'
		[role daemon]
		command = sh /tmp/daemon.sh
	END
	# In a session of its own and of no parent, and deaf to TERM.
	cat >/tmp/daemon.sh <<-'END'
		(trap '' TERM; setsid setsid where --hold &)
		(setsid setsid sleep 1000 &)
		while [ -z "$(pidof where)" ] || [ -z "$(pidof sleep)" ]; do usleep 50000; done
	END
	run numarun --roles "$roles"
	expect_status 0
	expect_gone where sleep

check "a numarun that is killed takes its roles with it"
	start_service
	release KILL
	expect_soon "memcached and its clients to end" roles_are_gone
