"""Transactions of librdkafka: their ends, offsets in them, and every way in which one is lost."""

from confluent_kafka import Consumer, TopicPartition

from librdkafka import (
    attempt,
    believes,
    bootstrap,
    committed,
    consumer,
    create,
    ends,
    read,
    reads,
    section,
    send,
    settle,
    transactional,
    until,
)

topic = "rd-orders"
create(topic, 2, 3)

section("commit and abort")
p = transactional("rd-one")
attempt("begin before init", p.begin_transaction)
attempt("init", p.init_transactions, 30)
attempt("commit without begin", p.commit_transaction, 30)
attempt("begin", p.begin_transaction)
attempt("begin twice", p.begin_transaction)
send(p, topic, "a", "b", "c")
print("HWM, LSO while it is open:", *ends(topic))
reads(topic)
attempt("commit", p.commit_transaction, 30)
settle(topic)
reads(topic)
attempt("begin", p.begin_transaction)
send(p, topic, "d", "e")
send(p, topic, "f", partition=1)
attempt("abort", p.abort_transaction, 30)
settle(topic)
settle(topic, 1)
reads(topic)
reads(topic, 1)
attempt("begin", p.begin_transaction)
attempt("commit of nothing", p.commit_transaction, 30)
attempt("begin", p.begin_transaction)
attempt("abort of nothing", p.abort_transaction, 30)
print("HWM, LSO:", *ends(topic))

section("offsets in a transaction")
target = "rd-target"
create(target)
c = consumer("rd-pipeline")
c.subscribe([topic])
seen = read(c, (topic, 0), (topic, 1))
print("read:", seen)
positions = c.position([TopicPartition(topic, 0), TopicPartition(topic, 1)])
print("positions:", *(t.offset for t in positions), "committed:", committed(c, topic, 0, 1))
attempt("begin", p.begin_transaction)
send(p, target, "from a")
attempt("send offsets", p.send_offsets_to_transaction, positions, c.consumer_group_metadata(), 30)
attempt("commit", p.commit_transaction, 30)
settle(target)
print("committed:", committed(c, topic, 0, 1))
believes("rd-pipeline", topic, 0, c.committed([TopicPartition(topic, 0)], timeout=30)[0].offset, ends(topic)[1])

other = transactional("rd-writer")
other.init_transactions(30)
other.begin_transaction()
send(other, topic, "g", "h")
other.commit_transaction(30)
settle(topic)
believes("rd-pipeline", topic, 0, c.committed([TopicPartition(topic, 0)], timeout=30)[0].offset, ends(topic)[1])
print("read:", read(c, (topic, 0)))
attempt("begin", p.begin_transaction)
send(p, target, "from g")
attempt(
    "send offsets",
    p.send_offsets_to_transaction,
    c.position([TopicPartition(topic, 0)]),
    c.consumer_group_metadata(),
    30,
)
attempt("abort", p.abort_transaction, 30)
settle(target)
print("committed:", committed(c, topic, 0, 1))
reads(target)
attempt("begin", p.begin_transaction)
attempt(
    "send offsets alone",
    p.send_offsets_to_transaction,
    c.position([TopicPartition(topic, 0)]),
    c.consumer_group_metadata(),
    30,
)
attempt("commit", p.commit_transaction, 30)
until("the offsets are stable", lambda: "none" not in committed(c, topic, 0))
print("committed:", committed(c, topic, 0, 1))
other.begin_transaction()
send(other, topic, "i")
print("held back: HWM, LSO:", *ends(topic))
believes("rd-pipeline", topic, 0, c.committed([TopicPartition(topic, 0)], timeout=30)[0].offset, ends(topic)[1])
other.abort_transaction(30)
settle(topic)

section("a transaction that has to be aborted")
stale = c.consumer_group_metadata()
c.close()
attempt("begin", p.begin_transaction)
send(p, target, "lost")
attempt("offsets of a member that has left", p.send_offsets_to_transaction, [TopicPartition(topic, 0, 1)], stale, 30)
attempt("commit", p.commit_transaction, 30)
attempt("abort", p.abort_transaction, 30)
small = "rd-small"
create(small, max_message_bytes="500")
attempt("begin", p.begin_transaction)
send(p, small, "fits", "x" * 2000)
attempt("commit after a record that was refused", p.commit_transaction, 30)
attempt("abort", p.abort_transaction, 30)
settle(small)
reads(small)
attempt("begin", p.begin_transaction)
send(p, small, "fits again")
attempt("commit, with a sequence that was skipped", p.commit_transaction, 30)
attempt("abort", p.abort_transaction, 30)
p = transactional("rd-two")
p.init_transactions(30)
alone = Consumer({"bootstrap.servers": bootstrap, "group.id": "rd-alone"})
attempt("begin", p.begin_transaction)
attempt(
    "offsets of a group without members",
    p.send_offsets_to_transaction,
    [TopicPartition(topic, 0, 2), TopicPartition(topic, 1, 1)],
    alone.consumer_group_metadata(),
    30,
)
attempt("commit", p.commit_transaction, 30)
print("committed:", committed(alone, topic, 0, 1))
alone.close()

section("fenced by a second producer of the same id")
first, second = transactional("rd-fenced"), transactional("rd-fenced")
first.init_transactions(30)
first.begin_transaction()
send(first, target, "of the first")
attempt("init of the second", second.init_transactions, 30)
settle(target)
reads(target)
attempt("begin of the second", second.begin_transaction)
send(second, target, "of the second")
attempt("commit of the second", second.commit_transaction, 30)
settle(target)
attempt("commit of the first", first.commit_transaction, 30)
attempt("abort of the first", first.abort_transaction, 30)
attempt("begin of the first", first.begin_transaction)
first, second = transactional("rd-fenced-idle"), transactional("rd-fenced-idle")
first.init_transactions(30)
attempt("init of the second", second.init_transactions, 30)
attempt("begin of the first", first.begin_transaction)
send(first, target, "of the first")
attempt("commit of the first", first.commit_transaction, 30)
reads(target)

section("timed out")
for end in "commit", "abort", "produce", "send offsets":
    late = transactional(
        f"rd-late-{end.replace(' ', '-')}", **{"transaction.timeout.ms": 1500, "message.timeout.ms": 1500}
    )
    late.init_transactions(30)
    late.begin_transaction()
    send(late, target, f"late, then {end}")
    settle(target)
    if end == "commit":
        attempt("commit", late.commit_transaction, 30)
    elif end == "abort":
        attempt("abort", late.abort_transaction, 30)
    elif end == "produce":
        send(late, target, "one more")
    else:
        with_group = Consumer({"bootstrap.servers": bootstrap, "group.id": "rd-late"})
        attempt(
            "send offsets",
            late.send_offsets_to_transaction,
            [TopicPartition(topic, 0, 1)],
            with_group.consumer_group_metadata(),
            30,
        )
        with_group.close()
    attempt("then commit", late.commit_transaction, 30)
    attempt("then abort", late.abort_transaction, 30)
    attempt("then begin", late.begin_transaction)
reads(target)

section("settings that the broker refuses")
attempt(
    "init with a timeout of an hour",
    transactional("rd-hour", **{"transaction.timeout.ms": 3600000}).init_transactions,
    30,
)
