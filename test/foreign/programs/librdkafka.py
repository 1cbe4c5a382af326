"""What the programs on librdkafka (confluent-kafka) have in common."""

import sys
import time

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

bootstrap = sys.argv[1]
patience = 60


def error(e):
    """An error in one line: its name, what it asks for, and what the client says of it."""
    e = e.args[0] if isinstance(e, KafkaException) else e
    if not isinstance(e, KafkaError):
        return f"{type(e).__name__}: {e}"
    marks = [
        mark
        for mark, there in (
            ("fatal", e.fatal()),
            ("retriable", e.retriable()),
            ("requires abort", e.txn_requires_abort()),
        )
        if there
    ]
    told = f"{e.name()}{' [' + ', '.join(marks) + ']' if marks else ''}"
    # After a fatal error the client repeats it in the words of one call or another.
    return told if e.fatal() else f"{told}: {e.str()}"


def attempt(what, act, *args, show=lambda result: "ok", **kwargs):
    """Prints what came of a call, and returns its result."""
    try:
        result = act(*args, **kwargs)
    except (KafkaException, KafkaError, ValueError, TypeError, RuntimeError) as e:
        print(f"{what}: {error(e)}", flush=True)
        return None
    print(f"{what}: {show(result)}", flush=True)
    return result


def section(title):
    print(f"\n# {title}", flush=True)


def until(what, ready):
    """Polls until something is so."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if ready():
            return
        time.sleep(0.05)
    sys.exit(f"waited in vain until {what}")


admin = AdminClient({"bootstrap.servers": bootstrap})


def properties(config):
    """Keyword arguments as properties' names have dots. Callbacks keep theirs."""
    return {k if k.endswith("_cb") else k.replace("_", "."): v for k, v in config.items()}


def create(topic, partitions=1, replicas=1, **config):
    """Makes a topic and waits until its leaders serve it."""
    admin.create_topics([NewTopic(topic, partitions, replicas, config=properties(config))])[topic].result()
    probe = Consumer({"bootstrap.servers": bootstrap, "group.id": "probe"})

    def served():
        try:
            return [probe.get_watermark_offsets(TopicPartition(topic, p), timeout=5) for p in range(partitions)]
        except KafkaException:
            return None

    until(f"{topic} is served", served)
    probe.close()


def producer(**config):
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, **properties(config)})


def transactional(id, **config):
    return producer(transactional_id=id, transaction_timeout_ms=60000, **config)


def send(p, topic, *values, partition=0):
    """Produces, and prints the offsets."""
    told = []
    try:
        for value in values:
            p.produce(
                topic,
                value=value,
                partition=partition,
                on_delivery=lambda e, m: told.append(error(e) if e else str(m.offset())),
            )
        until("everything is delivered", lambda: p.flush(1) == 0)
    except (KafkaException, KafkaError) as e:
        told.append(error(e))
    print(f"{topic}-{partition} at {', '.join(told)}", flush=True)


def consumer(group, isolation="read_committed", **config):
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "topic.metadata.refresh.interval.ms": 1000,
            **properties(config),
        }
    )


def read(c, *partitions):
    """Reads until the end of each partition, and returns records by partition as text."""
    got, open_ends = {p: [] for p in partitions}, set(partitions)
    end = time.monotonic() + patience
    while open_ends:
        if time.monotonic() > end:
            sys.exit(f"waited in vain for the end of {open_ends}")
        m = c.poll(0.5)
        if m is None:
            continue
        at = (m.topic(), m.partition())
        if m.error() and m.error().code() == KafkaError._PARTITION_EOF:
            open_ends.discard(at)
        elif m.error():
            got.setdefault(at, []).append(error(m.error()))
        else:
            got.setdefault(at, []).append(f"{m.offset()}={m.value().decode()}")
    return {f"{t}-{p}": " ".join(r) or "nothing" for (t, p), r in sorted(got.items())}


def owns(c, count):
    """Polls once, and says whether a consumer is assigned so many partitions."""
    c.poll(0.1)
    return len(c.assignment()) == count


def reads(topic, partition=0):
    """Prints what a fresh reader of each isolation level sees."""
    for isolation in "read_committed", "read_uncommitted":
        c = consumer("reader", isolation)
        c.assign([TopicPartition(topic, partition, 0)])
        seen = read(c, (topic, partition))[f"{topic}-{partition}"]
        low, high = c.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
        cached = c.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
        print(
            f"{isolation} {topic}-{partition}: {seen}; watermarks {low} {high}, cached {cached[0]} {cached[1]}, "
            f"position {c.position([TopicPartition(topic, partition)])[0].offset}",
            flush=True,
        )
        c.close()


def ends(topic, partition=0):
    """The HWM and the LSO by AdminClient.list_offsets."""
    at = TopicPartition(topic, partition)
    return [
        admin.list_offsets({at: OffsetSpec.latest()}, isolation_level=i)[at].result().offset
        for i in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
    ]


def settle(topic, partition=0):
    """Waits until no transaction is open, as end markers come a moment after the end."""

    def stable():
        high, last = ends(topic, partition)
        return high == last

    until(f"{topic}-{partition} is stable", stable)


def committed(c, topic, *partitions):
    """What a group has committed."""
    told = c.committed([TopicPartition(topic, p) for p in partitions], timeout=30)
    return " ".join(f"{t.topic}-{t.partition}@{'none' if t.offset == OFFSET_INVALID else t.offset}" for t in told)


def believes(group, topic, partition, committed, end):
    """What the client takes for the group's lag, and waits until the exporter was asked for its own figures."""
    print(
        f"client: group {group}, {topic}-{partition}: committed {committed}, LSO {end}, lag {end - committed}",
        flush=True,
    )
    sys.stdin.readline()
