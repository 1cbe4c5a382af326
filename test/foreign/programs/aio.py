"""aiokafka: transactional producer, consumers in both isolation levels, groups, admin."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

bootstrap = sys.argv[1].split(",")
topic, target = "ai-orders", "ai-target"
patience = 60


def section(title):
    print(f"\n# {title}", flush=True)


async def attempt(what, call, show=lambda result: "ok"):
    """Prints what came of a call, and returns its result."""
    try:
        result = await call
    except (KafkaError, ValueError, AssertionError, RuntimeError) as e:
        print(f"{what}: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)
        return None
    print(f"{what}: {show(result)}", flush=True)
    return result


async def until(what, ready):
    """Polls until something is so."""
    for _ in range(20 * patience):
        if await ready():
            return
        await asyncio.sleep(0.05)
    sys.exit(f"waited in vain until {what}")


async def producer(**config):
    p = AIOKafkaProducer(bootstrap_servers=bootstrap, **config)
    await p.start()
    return p


async def consumer(*topics, **config):
    c = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        **{"auto_offset_reset": "earliest", "enable_auto_commit": False, "metadata_max_age_ms": 1000, **config},
    )
    await c.start()
    return c


async def send(p, to, *values, partition=0):
    """Produces, and prints the offsets."""
    told = []
    for value in values:
        try:
            told.append(str((await p.send_and_wait(to, value.encode(), partition=partition)).offset))
        except KafkaError as e:
            told.append(f"{type(e).__name__}: {e}")
    print(f"{to}-{partition} at {', '.join(told)}", flush=True)


async def ends(of, partition=0):
    """HWM and LSO, by consumers of both isolation levels."""
    told = []
    at = TopicPartition(of, partition)
    for isolation in "read_uncommitted", "read_committed":
        c = await consumer(isolation_level=isolation)
        told.append((await c.end_offsets([at]))[at])
        await c.stop()
    return told


async def settle(of, partition=0):
    async def stable():
        high, last = await ends(of, partition)
        return high == last

    await until(f"{of}-{partition} is stable", stable)


async def read(c):
    """Reads until nothing comes any more, and returns records by partition as text."""
    got = {}
    quiet = 0
    while quiet < 3:
        batch = await c.getmany(timeout_ms=300)
        quiet = 0 if batch else quiet + 1
        for at, records in batch.items():
            got.setdefault(f"{at.topic}-{at.partition}", []).extend(f"{r.offset}={r.value.decode()}" for r in records)
    return ", ".join(f"{at}: {' '.join(records)}" for at, records in sorted(got.items())) or "nothing"


async def reads(of, partition=0):
    """Prints what a fresh reader of each isolation level sees."""
    at = TopicPartition(of, partition)
    for isolation in "read_committed", "read_uncommitted":
        c = await consumer(isolation_level=isolation)
        c.assign([at])
        await c.seek_to_beginning(at)
        seen = await read(c)
        print(
            f"{isolation}: {seen}; position {await c.position(at)}, high watermark {c.highwater(at)}, last stable offset {c.last_stable_offset(at)}, "
            f"beginning {(await c.beginning_offsets([at]))[at]}, end {(await c.end_offsets([at]))[at]}",
            flush=True,
        )
        await c.stop()


async def believes(group, of, partition=0):
    """What the client takes for the group's lag; the exporter is then asked for its own figures."""
    at = TopicPartition(of, partition)
    committed = (await admin.list_consumer_group_offsets(group, partitions=[at]))[at].offset
    end = (await ends(of, partition))[1]
    print(
        f"client: group {group}, {of}-{partition}: committed {committed}, LSO {end}, lag {end - committed}", flush=True
    )
    await asyncio.to_thread(sys.stdin.readline)


async def committed(group, of, *partitions):
    told = await admin.list_consumer_group_offsets(group, partitions=[TopicPartition(of, p) for p in partitions])
    return " ".join(f"{at.topic}-{at.partition}@{told[at].offset}" for at in sorted(told))


async def create(name, partitions=1, replicas=1):
    await attempt(
        f"create {name}",
        admin.create_topics([NewTopic(name, partitions, replicas)]),
        show=lambda r: [(t[0], t[1]) for t in r.topic_errors],
    )

    async def served():
        c = await consumer()
        try:
            told = await c.end_offsets([TopicPartition(name, p) for p in range(partitions)])
            return len(told) == partitions
        except KafkaError:
            return False
        finally:
            await c.stop()

    await until(f"{name} is served", served)


async def transactions():
    section("transactions")
    p = await producer(transactional_id="ai-one", transaction_timeout_ms=60000)
    await attempt("commit without begin", p.commit_transaction())
    await attempt("begin", p.begin_transaction())
    await attempt("begin twice", p.begin_transaction())
    await send(p, topic, "a", "b", "c")
    print("HWM, LSO while it is open:", *await ends(topic))
    await reads(topic)
    await attempt("commit", p.commit_transaction())
    await settle(topic)
    await reads(topic)
    async with p.transaction():
        await send(p, topic, "d", partition=1)
    await attempt("begin", p.begin_transaction())
    await send(p, topic, "e", "f")
    await attempt("abort", p.abort_transaction())
    await settle(topic)
    await settle(topic, 1)
    await reads(topic)
    await reads(topic, 1)
    await attempt("begin", p.begin_transaction())
    await attempt("commit of nothing", p.commit_transaction())
    print("HWM, LSO:", *await ends(topic))

    section("offsets in a transaction")
    at = TopicPartition(topic, 0)
    await attempt("begin", p.begin_transaction())
    await send(p, target, "from a")
    await attempt("send offsets", p.send_offsets_to_transaction({at: 3}, "ai-pipeline"))
    print("before the end:", await committed("ai-pipeline", topic, 0))
    await attempt("commit", p.commit_transaction())
    await settle(target)

    async def there():
        return "@3" in await committed("ai-pipeline", topic, 0)

    await until("the offset is there", there)
    await believes("ai-pipeline", topic)
    await attempt("begin", p.begin_transaction())
    await attempt("send offsets", p.send_offsets_to_transaction({at: OffsetAndMetadata(7, "mine")}, "ai-pipeline"))
    await attempt("abort", p.abort_transaction())
    print("committed:", await committed("ai-pipeline", topic, 0))
    await attempt("begin", p.begin_transaction())
    await send(p, topic, "held")
    print("held back: HWM, LSO:", *await ends(topic))
    await believes("ai-pipeline", topic)
    member = await consumer(topic, group_id="ai-live")
    await member.getmany(timeout_ms=3000)
    await attempt("offsets of a group with members", p.send_offsets_to_transaction({at: 1}, "ai-live"))
    await member.stop()
    await attempt("commit", p.commit_transaction())
    await attempt("abort", p.abort_transaction())
    await settle(topic)
    print("committed:", await committed("ai-live", topic, 0))
    await p.stop()

    section("fenced and timed out")
    first = await producer(transactional_id="ai-fenced")
    await first.begin_transaction()
    await send(first, target, "of the first")
    second = await producer(transactional_id="ai-fenced")
    await settle(target)
    await second.begin_transaction()
    await send(second, target, "of the second")
    await attempt("commit of the second", second.commit_transaction())
    await settle(target)
    await attempt("commit of the first", first.commit_transaction())
    await attempt("begin of the first", first.begin_transaction())
    await second.stop()
    await attempt("stop of the first", first.stop())
    for end in "commit", "abort", "send":
        late = await producer(transactional_id=f"ai-late-{end}", transaction_timeout_ms=1500)
        await late.begin_transaction()
        await send(late, target, f"late, then {end}")
        await settle(target)
        if end == "send":
            await send(late, target, "one more")
        await attempt(
            "commit" if end == "commit" else "abort",
            late.commit_transaction() if end == "commit" else late.abort_transaction(),
        )
        await attempt("begin", late.begin_transaction())
        await attempt("stop", late.stop())
    await attempt("a timeout of an hour", producer(transactional_id="ai-hour", transaction_timeout_ms=3600000))
    await reads(target)


async def producers():
    section("plain and idempotent producers")
    for idempotent in False, True:
        p = await producer(enable_idempotence=idempotent)
        await send(p, "ai-plain", "x", "y")
        await attempt("too large", p.send_and_wait("ai-plain", b"x" * 2000000))
        await p.stop()
    p = await producer(request_timeout_ms=1500)
    await attempt("a topic that is not there", p.send_and_wait("ai-nothing", b"x"))
    await p.stop()


async def consumers():
    section("times and positions")
    p = await producer()
    for at in 1000, 3000, 2000:
        await p.send_and_wait("ai-timed", b"t%d" % at, partition=0, timestamp_ms=at)
    await p.stop()
    where = TopicPartition("ai-timed", 0)
    for isolation in "read_committed", "read_uncommitted":
        c = await consumer(isolation_level=isolation)
        c.assign([where])
        for at in 0, 1500, 3000, 9000:
            print(isolation, "at", at, (await c.offsets_for_times({where: at}))[where])
        c.seek(where, 1)
        print("from 1:", await read(c))
        await c.seek_to_end(where)
        print("end:", await c.position(where))
        c.seek(where, 99)
        print("from 99:", await read(c))
        await c.stop()
    c = await consumer(auto_offset_reset="none", group_id="ai-none")
    c.assign([where])
    await attempt("no offset and no reset", c.getone())
    await c.stop()

    section("groups")
    told = {}

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            pass

        def on_partitions_assigned(self, assigned):
            told["assigned"] = sorted(at.partition for at in assigned)

    for isolation in "read_committed", "read_uncommitted":
        group = f"ai-{isolation}"
        c = await consumer(group_id=group, isolation_level=isolation, client_id="aiokafka")
        c.subscribe([topic], listener=Listener())
        print(await read(c))
        print("assigned:", told["assigned"])
        await attempt("commit", c.commit())
        print(
            "committed:",
            await committed(group, topic, 0, 1),
            [await c.committed(TopicPartition(topic, n)) for n in (0, 1)],
        )
        await believes(group, topic)
        await attempt("commit with metadata", c.commit({TopicPartition(topic, 1): OffsetAndMetadata(1, "mine")}))
        print("committed:", await committed(group, topic, 0, 1))
        outside = await consumer(group_id=group)
        outside.assign([TopicPartition(topic, 0)])
        await attempt("commit from outside", outside.commit({TopicPartition(topic, 0): 1}))
        await outside.stop()
        await c.stop()
    alone = await consumer(group_id="ai-alone")
    alone.assign([TopicPartition(topic, 0)])
    await attempt("commit without members", alone.commit({TopicPartition(topic, 0): 2}))
    print("committed:", await committed("ai-alone", topic, 0))
    await alone.stop()
    for assignor in RoundRobinPartitionAssignor, StickyPartitionAssignor:
        group = f"ai-{assignor.name}"
        one = await consumer(topic, group_id=group, partition_assignment_strategy=[assignor], client_id="one")
        await until("the first has all", lambda: has(one, 2))
        two = await consumer(topic, group_id=group, partition_assignment_strategy=[assignor], client_id="two")
        await until("the first has one", lambda: has(one, 1))
        await until("the second has one", lambda: has(two, 1))
        print(
            f"{assignor.name}:",
            len(one.assignment()),
            len(two.assignment()),
            one.assignment().isdisjoint(two.assignment()),
        )
        await two.stop()
        await until("the first has all again", lambda: has(one, 2))
        await one.stop()
    static = await consumer(topic, group_id="ai-static", group_instance_id="one", client_id="static")
    await until("it has all", lambda: has(static, 2))
    await static.stop()
    again = await consumer(topic, group_id="ai-static", group_instance_id="one", client_id="static")
    await until("it has all again", lambda: has(again, 2))
    print("static:", len(again.assignment()))
    await again.stop()


async def has(c, count):
    return len(c.assignment()) == count


async def admin_calls():
    section("admin")
    told = await admin.create_topics(
        [
            NewTopic(topic, 1, 1),
            NewTopic("ai-many", 1, 9),
            NewTopic("ai/name", 1, 1),
            NewTopic("ai-config", 1, 1, topic_configs={"retention.ms": "soon"}),
        ]
    )
    print("create:", *(t[:3] for t in told.topic_errors), sep="\n  ")
    print(
        "describe:",
        [
            (
                t["topic"],
                t["error_code"],
                t["is_internal"],
                sorted((p["partition"], len(p["replicas"])) for p in t["partitions"]),
            )
            for t in await admin.describe_topics([topic, "ai-nothing"])
        ],
    )
    print("topics:", [t for t in sorted(await admin.list_topics()) if t.startswith("ai-")])
    cluster = await admin.describe_cluster()
    print("cluster:", sorted(b["node_id"] for b in cluster["brokers"]), len(cluster["cluster_id"]))
    await attempt(
        "more partitions",
        admin.create_partitions({"ai-plain": NewPartitions(2)}),
        show=lambda r: [t[:3] for t in r.topic_errors],
    )
    await attempt(
        "fewer partitions",
        admin.create_partitions({"ai-plain": NewPartitions(1)}),
        show=lambda r: [t[:3] for t in r.topic_errors],
    )
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": None, "cleanup.policy": None})
    for answer in await admin.describe_configs([resource]):
        for r in answer.resources:
            print("configuration:", r[0], r[1], r[3], sorted(e[:4] for e in r[4]))
    changed = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "100000"})
    await attempt("alter", admin.alter_configs([changed]), show=lambda r: [[e[:2] for e in a.resources] for a in r])
    where = TopicPartition("ai-timed", 0)
    await attempt(
        "delete records",
        admin.delete_records({where: RecordsToDelete(before_offset=2)}),
        show=lambda r: sorted(r.values()),
    )
    await attempt("delete records beyond the end", admin.delete_records({where: RecordsToDelete(before_offset=99)}))
    groups = [g for g in sorted(await admin.list_consumer_groups()) if g[0].startswith("ai-")]
    print("groups:", *groups)
    for group in "ai-read_committed", "ai-alone", "ai-nobody":
        for answer in await admin.describe_consumer_groups([group]):
            print("group:", *(g[:5] for g in answer.groups))
        print("coordinator:", await admin.find_coordinator(group) in (1, 2, 3))
        offsets = await admin.list_consumer_group_offsets(group)
        print("offsets:", sorted((at.topic, at.partition, o.offset, o.metadata) for at, o in offsets.items()))
    await attempt(
        "delete topics",
        admin.delete_topics(["ai-plain", "ai-nothing"]),
        show=lambda r: sorted(t[:2] for t in r.topic_error_codes),
    )


async def main():
    global admin
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await create(topic, 2, 3)
    for name in target, "ai-plain", "ai-timed":
        await create(name)
    await transactions()
    await producers()
    await consumers()
    await admin_calls()
    await admin.close()


asyncio.run(main())
