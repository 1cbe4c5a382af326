#!/bin/sh
# kcat: produce, with a transactional id too, consume in both isolation levels,
# list metadata, ask for offsets by time, and consume as a group.
#
# kcat.sh KCAT BOOTSTRAP; topics are made by the caller: kcat-orders of two
# partitions, kcat-target of one.

run() { # arguments as they are printed
	printf '$ kcat %s\n' "$*"
	timeout 60 "$kcat" -b "$bootstrap" -m 30 "$@" 2>&1
	status=$?
	[ $status = 0 ] || echo "exit status $status"
}

await() { # partition of kcat-orders, what -Q must say of its end
	for _ in $(seq 600); do
		"$kcat" -b "$bootstrap" -Q -t "$1:-1" 2>&1 | grep -q "offset $2\$" && return
		sleep 0.1
	done
	echo "the end of $1 does not become $2"
}

kcat=$1
bootstrap=$2
format='%t-%p@%o key %k (%K) value %s (%S) headers %h at %T\n'

echo '# produce'
printf 'k1:one\nk2:two\nk3:\n' | run -P -t kcat-orders -p 0 -K : -H 'h=x' -Z
printf 'three\nfour\n' | run -P -t kcat-orders -p 1 -z gzip -X acks=1
printf 'nowhere\n' | run -P -t kcat-orders -p 7 -X message.timeout.ms=3000
printf 'nowhere\n' | run -P -t kcat-nothing -X message.timeout.ms=3000

echo '# produce in transactions'
printf 'five\nsix\n' | run -P -t kcat-orders -p 0 -X transactional.id=kcat
await kcat-orders:0 6
printf 'alone\n' | run -P -t kcat-target -p 0 -X transactional.id=kcat
await kcat-target:0 2
printf 'too long for it\n' | run -P -t kcat-target -p 0 -X transactional.id=kcat -X transaction.timeout.ms=3600000

echo '# consume'
for isolation in read_committed read_uncommitted; do
	run -C -t kcat-orders -p 0 -o beginning -e -f "$format" -X isolation.level=$isolation
	run -C -t kcat-orders -p 0 -o 3 -c 1 -f "$format" -X isolation.level=$isolation
	run -C -t kcat-orders -p 0 -o -2 -e -f '%o %s\n' -X isolation.level=$isolation
	run -C -t kcat-orders -p 1 -o end -e -f '%o %s\n' -X isolation.level=$isolation
	run -C -t kcat-orders -p 1 -o 99 -e -f '%o %s\n' -X isolation.level=$isolation -X auto.offset.reset=earliest
done
run -C -t kcat-orders -p 0 -o beginning -e -J
run -C -t kcat-orders -p 7 -o beginning -e
run -C -t kcat-nothing -p 0 -o beginning -e

echo '# metadata'
run -L -t kcat-orders
run -L -J -t kcat-target
echo
run -L -t kcat-nothing

echo '# offsets'
run -Q -t kcat-orders:0:-1 -t kcat-orders:0:-2 -t kcat-orders:1:-1
run -Q -t kcat-orders:0:0
run -Q -t kcat-orders:0:32503680000000
run -Q -t kcat-orders:7:-1
run -Q -t kcat-nothing:0:-1

echo '# a group'
for protocol in range,roundrobin cooperative-sticky; do
	run -G kcat-group -X auto.offset.reset=earliest -X partition.assignment.strategy=$protocol -X isolation.level=read_committed \
		-e -f '%p@%o %s\n' kcat-orders | grep -v '^% Reached end' | sort # of one partition or the other first
done
