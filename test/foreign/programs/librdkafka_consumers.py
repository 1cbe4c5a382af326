"""Consumers of librdkafka, of both group protocols and in both isolation levels."""

import json

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

from librdkafka import (
    admin,
    attempt,
    believes,
    bootstrap,
    committed,
    consumer,
    create,
    ends,
    error,
    owns,
    producer,
    read,
    section,
    send,
    settle,
    transactional,
    until,
)

topic = "rc-orders"
create(topic, 3)

# 0: 0-2 plain, 3-4 committed, 5 marker, 6-7 aborted, 8 marker, 9 plain, 10 open, 11 plain
# 1: 0-3 plain; 2: nothing
plain = producer()
send(plain, topic, "p0", "p1", "p2")
send(plain, topic, "q0", "q1", "q2", "q3", partition=1)
writer = transactional("rc-writer")
writer.init_transactions(30)
writer.begin_transaction()
send(writer, topic, "c3", "c4")
writer.commit_transaction(30)
settle(topic)
writer.begin_transaction()
send(writer, topic, "a6", "a7")
writer.abort_transaction(30)
settle(topic)
send(plain, topic, "p9")
writer.begin_transaction()
send(writer, topic, "o10")
send(plain, topic, "p11")
print("HWM, LSO:", *ends(topic))

all_three = [(topic, 0), (topic, 1), (topic, 2)]


def names(partitions):
    return " ".join(f"{t.topic}-{t.partition}" for t in sorted(partitions, key=lambda t: t.partition)) or "nothing"


def statistics(c, stats, partition):
    """What the client's own statistics say once they know of the commit."""

    def known():
        c.poll(0.1)
        return stats and json.loads(stats[-1])["topics"][topic]["partitions"][str(partition)]["consumer_lag"] >= 0

    until("the statistics know the lag", known)
    of = json.loads(stats[-1])["topics"][topic]["partitions"][str(partition)]
    return f"consumer_lag {of['consumer_lag']}, ls_offset {of['ls_offset']}, hi_offset {of['hi_offset']}, stored {of['stored_offset']}, committed {of['committed_offset']}"


for protocol in "classic", "consumer":
    for isolation in "read_committed", "read_uncommitted":
        group = f"rc-{protocol}-{isolation}"
        section(f"{protocol}, {isolation}")
        stats = []
        c = consumer(group, isolation, group_protocol=protocol, statistics_interval_ms=300, stats_cb=stats.append)
        c.subscribe(
            [topic],
            on_assign=lambda _, parts: print("assigned", names(parts)),
            on_revoke=lambda _, parts: print("revoked", names(parts)),
        )
        for at, records in read(c, *all_three).items():
            print(f"{at}: {records}")
        print("position:", *(t.offset for t in c.position([TopicPartition(topic, p) for p in range(3)])))
        print("cached watermarks:", *(c.get_watermark_offsets(TopicPartition(topic, p), cached=True) for p in range(3)))
        print("watermarks:", *(c.get_watermark_offsets(TopicPartition(topic, p), timeout=30) for p in range(3)))
        print("committed:", committed(c, topic, 0, 1, 2))
        attempt(
            "commit",
            c.commit,
            asynchronous=False,
            show=lambda r: " ".join(
                f"{t.topic}-{t.partition}@{t.offset}" for t in sorted(r, key=lambda t: t.partition)
            ),
        )
        print("committed:", committed(c, topic, 0, 1, 2))
        print("statistics:", statistics(c, stats, 0))
        if isolation == "read_committed":
            believes(group, topic, 0, c.committed([TopicPartition(topic, 0)], timeout=30)[0].offset, ends(topic)[1])
        attempt("seek", c.seek, TopicPartition(topic, 0, 3), show=lambda _: read(c, (topic, 0)))
        attempt("seek to an aborted record", c.seek, TopicPartition(topic, 0, 7), show=lambda _: read(c, (topic, 0)))
        attempt("seek beyond the end", c.seek, TopicPartition(topic, 0, 500), show=lambda _: read(c, (topic, 0)))
        c.pause([TopicPartition(topic, 0)])
        c.seek(TopicPartition(topic, 1, 2))
        print("one is paused:", read(c, (topic, 1)))
        c.resume([TopicPartition(topic, 0)])
        attempt(
            "commit with metadata",
            c.commit,
            offsets=[TopicPartition(topic, 1, 3, metadata="mine")],
            asynchronous=False,
            show=lambda r: r[0].offset,
        )
        print("metadata:", *(repr(t.metadata) for t in c.committed([TopicPartition(topic, 1)], timeout=30)))
        attempt(
            "commit of a partition that is not there",
            c.commit,
            offsets=[TopicPartition(topic, 9, 3)],
            asynchronous=False,
            show=lambda r: [error(t.error) if t.error else t.offset for t in r],
        )
        attempt(
            "commit of a topic that is not there",
            c.commit,
            offsets=[TopicPartition("rc-nothing", 0, 3)],
            asynchronous=False,
            show=lambda r: [error(t.error) if t.error else t.offset for t in r],
        )
        c.close()

section("times")
timed = "rc-timed"
create(timed, 1, retention_ms="-1")
for offset, at in enumerate((1000, 2000, 3000)):
    plain.produce(timed, value=f"t{offset}", partition=0, timestamp=at)
plain.flush(30)
writer.commit_transaction(30)
writer.begin_transaction()
writer.produce(timed, value="t3", partition=0, timestamp=4000)
writer.flush(30)
plain.produce(timed, value="t4", partition=0, timestamp=5000)
plain.flush(30)
for isolation in "read_committed", "read_uncommitted":
    c = consumer("rc-times", isolation)
    for at in 0, 1000, 1500, 3000, 3500, 4500, 9000:
        print(isolation, "at", at, "offset", c.offsets_for_times([TopicPartition(timed, 0, at)], timeout=30)[0].offset)
    attempt(
        "a partition that is not there",
        c.offsets_for_times,
        [TopicPartition(timed, 7, 0)],
        timeout=30,
        show=lambda r: error(r[0].error),
    )
    attempt("a topic that is not there", c.get_watermark_offsets, TopicPartition("rc-nothing", 0), timeout=30)
    for where, offset in ("beginning", OFFSET_BEGINNING), ("end", OFFSET_END), ("99", 99):
        c.assign([TopicPartition(timed, 0, offset)])
        print(isolation, "from", where, read(c, (timed, 0)))
    c.close()
strict = consumer("rc-strict", auto_offset_reset="error")
strict.assign([TopicPartition(timed, 0, 99)])
m = None
while m is None or not m.error():
    m = strict.poll(0.5)
print("no reset:", m.error().name())
strict.close()
writer.abort_transaction(30)
settle(timed)

section("rebalances")
for protocol, strategy in (
    ("classic", "range"),
    ("classic", "roundrobin"),
    ("classic", "cooperative-sticky"),
    ("consumer", "uniform"),
    ("consumer", "range"),
):
    group = f"rc-balance-{protocol}-{strategy}"
    how = {"partition_assignment_strategy": strategy} if protocol == "classic" else {"group_remote_assignor": strategy}
    members = [consumer(group, group_protocol=protocol, **how)]
    members[0].subscribe([topic])
    until("the first has all", lambda: owns(members[0], 3))
    members.append(consumer(group, group_protocol=protocol, **how))
    members[1].subscribe([topic])

    def shared():
        for m in members:
            m.poll(0.1)
        return sorted(len(m.assignment()) for m in members) == [1, 2]

    until("both have some", shared)
    print(
        f"{protocol} {strategy}:",
        sorted(len(m.assignment()) for m in members),
        members[0].memberid() != members[1].memberid(),
    )
    members[1].close()
    until("the first has all again", lambda: owns(members[0], 3))
    print("alone again:", names(members[0].assignment()))
    members[0].close()

section("static members")
for protocol in "classic", "consumer":
    group = f"rc-static-{protocol}"
    one = consumer(
        group,
        group_protocol=protocol,
        group_instance_id="one",
        **({"session_timeout_ms": 45000} if protocol == "classic" else {}),
    )
    one.subscribe([topic])
    read(one, *all_three)
    attempt("commit", one.commit, asynchronous=False, show=lambda r: len(r))
    first_id = one.memberid()
    one.close()
    print("after close:", admin.describe_consumer_groups([group])[group].result().state.name)
    one = consumer(
        group,
        group_protocol=protocol,
        group_instance_id="one",
        **({"session_timeout_ms": 45000} if protocol == "classic" else {}),
    )
    one.subscribe([topic])
    until("it has all again", lambda: owns(one, 3))
    print("again:", names(one.assignment()), "same member id:", first_id == one.memberid())
    twin = consumer(
        group,
        group_protocol=protocol,
        group_instance_id="one",
        **({"session_timeout_ms": 45000} if protocol == "classic" else {}),
    )
    twin.subscribe([topic])
    told = []

    def fenced():
        for name, c in ("one", one), ("twin", twin):
            m = c.poll(0.1)
            if m and m.error() and m.error().name() != "_PARTITION_EOF":
                told.append(f"{name}: {m.error().name()}{' [fatal]' if m.error().fatal() else ''}")
        return told

    until("one of them is fenced", fenced)
    print(f"{protocol}:", told[0])
    one.close()
    twin.close()

section("patterns and topics that come later")
for protocol in "classic", "consumer":
    c = consumer(f"rc-pattern-{protocol}", group_protocol=protocol)
    c.subscribe([f"^rc-later-{protocol}-.*"])
    c.poll(0.5)
    create(f"rc-later-{protocol}-a", 2)
    create(f"rc-later-{protocol}-b")
    until("all three are assigned", lambda: owns(c, 3))
    print(f"{protocol}:", sorted(f"{t.topic}-{t.partition}" for t in c.assignment()))
    c.close()

section("what a commit without a member may do")
outside = Consumer({"bootstrap.servers": bootstrap, "group.id": "rc-outside"})
attempt(
    "commit to a group without members",
    outside.commit,
    offsets=[TopicPartition(topic, 0, 4)],
    asynchronous=False,
    show=lambda r: r[0].offset,
)
print("committed:", committed(outside, topic, 0, 1))
outside.close()
inside = consumer("rc-inside")
inside.subscribe([topic])
read(inside, *all_three)
outside = Consumer({"bootstrap.servers": bootstrap, "group.id": "rc-inside"})
attempt(
    "commit to a group with members",
    outside.commit,
    offsets=[TopicPartition(topic, 0, 4)],
    asynchronous=False,
    show=lambda r: [error(t.error) if t.error else t.offset for t in r],
)
outside.close()
inside.close()
