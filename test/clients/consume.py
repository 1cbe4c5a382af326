"""Consumes a topic with librdkafka until it is told to stop, and commits.

consume.py BOOTSTRAP GROUP TOPIC ISOLATION PROTOCOL
"""

import signal
import sys

from confluent_kafka import Consumer

bootstrap, group, topic, isolation, protocol = sys.argv[1:]
going = True


def stop(_signal, _frame):
    global going
    going = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer({
    "bootstrap.servers": bootstrap,
    "group.id": group,
    "client.id": "librdkafka",
    "group.protocol": protocol,
    "isolation.level": isolation,
    "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 200,
})
consumer.subscribe([topic])
while going:
    consumer.poll(0.2)
consumer.close()
