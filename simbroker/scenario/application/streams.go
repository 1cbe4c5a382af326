package application

import (
	"fmt"
	"time"
)

// Streams transforms every partition of a topic into the same partition of
// another one, as an instance of Kafka Streams does with exactly_once_v2: each
// partition is a task, tasks are dealt out to threads, and each thread has a
// producer of its own with the transactional id ID-PROCESS-1, ID-PROCESS-2 and so
// on. A thread commits what all its tasks wrote and read in one transaction.
//
// Its moments: "started", when every thread has its producer; of each thread in
// turn "written" and "committed".
type Streams struct {
	ID       string // of the application
	Process  string // names the instance: one of the same name fences this one
	Group    string
	From, To string        // topics
	Threads  int           // 0 means 1
	Batch    int           // records of a task in a transaction; 0 means DefaultBatch
	Timeout  time.Duration // of transactions; 0 means DefaultTimeout
}

// thread is a producer with its tasks.
type thread struct {
	*producer
	tasks []*reader
}

func (a Streams) live(l *Life) error {
	threads, err := a.start(l)
	if err != nil {
		return err
	}
	if err := l.reach("started"); err != nil {
		return err
	}
	for _, t := range threads {
		for _, task := range t.tasks {
			if err := task.begin(a.Group); err != nil {
				return err
			}
		}
	}
	for busy := true; busy; {
		busy = false
		for _, t := range threads {
			wrote, err := a.round(l, t)
			if err != nil {
				return err
			}
			busy = busy || wrote
		}
	}
	return nil
}

// start initializes the producers and deals out the tasks.
func (a Streams) start(l *Life) ([]*thread, error) {
	partitions := 0
	err := l.client.retried("Metadata", func() (int16, error) {
		topic, err := l.client.metadata(a.From)
		partitions = len(topic.Partitions)
		return 0, err
	})
	if err != nil {
		return nil, err
	}
	threads := make([]*thread, max(a.Threads, 1))
	for i := range threads {
		p, err := l.client.transactionalProducer(fmt.Sprintf("%s-%s-%d", a.ID, a.Process, i+1), timeoutOf(a.Timeout))
		if err != nil {
			return nil, err
		}
		threads[i] = &thread{producer: p}
		l.Counts.Started++
	}
	for n := range partitions {
		t := threads[n%len(threads)]
		t.tasks = append(t.tasks, &reader{client: l.client, from: Partition{a.From, int32(n)}})
	}
	return threads, nil
}

// round is one transaction of a thread, if its tasks have anything to do.
func (a Streams) round(l *Life, t *thread) (wrote bool, err error) {
	for _, task := range t.tasks {
		keys, next, err := task.poll(batchOf(a.Batch))
		if err != nil {
			return false, err
		}
		if len(keys) == 0 {
			continue
		}
		if err := t.send(Partition{a.To, task.from.Number}, keys); err != nil {
			return false, err
		}
		l.Counts.Written += len(keys)
		if err := t.sendOffset(a.Group, task.from, next); err != nil {
			return false, err
		}
		wrote = true
	}
	if !wrote {
		return false, nil
	}
	if err := l.reach("written"); err != nil {
		return false, err
	}
	return true, t.commit(l)
}
