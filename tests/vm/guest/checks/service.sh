# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# What numarun does while programs run: four sockets in a ring, the card on node 2 (CPUs 4-5), eight
# huge pages on node 0 and three on node 2.

# shellcheck source=/dev/null
. /lib.sh

echo "+cpuset +memory +hugetlb" >/sys/fs/cgroup/cgroup.subtree_control

# The PIDs of all processes of these names, in their order.
pids_of() { # NAME...
	pidof "$@" | tr ' ' '\n' | sort -n | xargs
}

expect_gone() { # NAME...
	expect_equal "processes of the names $*" "" "$(pids_of "$@")"
}

ended() { # PID
	case $(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) in
	'' | Z | X) ;;
	*) return 1 ;;
	esac
}

# Hundredths of a second since power-on.
now_cs() {
	cut -d ' ' -f 1 /proc/uptime | tr -d .
}

# The CPUs of all threads of a process, each list once.
cpus_of_threads() { # PID
	sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/"$1"/task/*/status | sort -u | xargs
}

for topic in roles slots follow limits pid; do
	# shellcheck source=/dev/null
	. "/checks/$topic.sh"
done
