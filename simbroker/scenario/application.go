package scenario

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario/application"
)

// Applications are small programs that use the cluster as real ones do, an
// instance a command. They know records by their keys, which "insert" numbers.
func applicationVerbs() []Verb {
	var verbs []Verb
	for _, kind := range applicationKinds {
		verbs = append(verbs, Verb{Name: kind.name, Usage: kind.usage(), Doc: kind.doc, Parse: kind.parse})
	}
	return append(verbs,
		Verb{
			Name:  "wake",
			Usage: "wake LIFE [crash=MOMENT[:N]] [pause=MOMENT[:N]]",
			Doc:   "Lets an instance go on that pause stopped, as one wakes whose machine stood still. Prints all that it has done.",
			Parse: parseWake,
		},
		Verb{
			Name:  "insert",
			Usage: "insert STORE N",
			Doc:   "Adds N rows to a store, which count on from its last one.",
			Parse: parseInsert,
		},
		Verb{
			Name:  "tally",
			Usage: "tally STORE|PARTITION|TOPIC of STORE|PARTITION|TOPIC",
			Doc: "Prints what became of records, which are known by their keys: how many of the second are in the first once, not at all, or more than once, " +
				"and how many keys are foreign. A topic is all its partitions together; a key that the second has several times is to be in the first as often. " +
				"Of partitions and topics it counts what read_committed consumers are given; of a store its effects, and behind the word of its rows.",
			Parse: parseTally,
		})
}

// applicationKind is an application as a command: its words are of the kinds that
// usage names.
type applicationKind struct {
	name    string
	words   []string
	options []string // besides batch, crash and pause
	doc     string
	app     func(a applicationWords) application.App
}

// The words of an application.
const (
	wordID        = "ID"
	wordGroup     = "GROUP"
	wordKept      = "GROUP|kept" // a group, or offsets that the store keeps
	wordPartition = "PARTITION"
	wordTopic     = "TOPIC"
	wordStore     = "STORE"
)

// keptWord stands for offsets in a store.
const keptWord = "kept"

// applicationWords are a command's words, as they are on the cluster.
type applicationWords struct {
	ids, groups, topics []string
	partitions          []application.Partition
	stores              []*application.Store
	numbers             map[string]int
	timeout             time.Duration
	process             string
}

var applicationKinds = []applicationKind{
	producerKind("send-at-most-once", application.AtMostOnce, "sends nothing again"),
	producerKind("send-at-least-once", application.AtLeastOnce, "sends again what was not acknowledged"),
	producerKind("send-once", application.Once, "is idempotent, and sends again what was not acknowledged"),
	consumerKind("at-most-once", application.AtMostOnce, "and commits before it handles. Its moments: committed, handled."),
	consumerKind("at-least-once", application.AtLeastOnce, "and commits after it has handled. Its moments: handled, committed."),
	consumerKind("handle-once", application.Once, "leaves out what the store knows already, and commits after it has handled. Its moments: handled, committed."),
	{
		name: "outbox", words: []string{wordStore, wordPartition},
		doc: "Relays rows of the store to the partition, and marks those that it has sent. Its moments: sent, marked.",
		app: func(a applicationWords) application.App {
			return application.Outbox{From: a.stores[0], To: a.partitions[0], Batch: a.numbers["batch"]}
		},
	},
	{
		name: "transform", words: []string{wordID, wordGroup, wordPartition, wordPartition}, options: []string{"timeout"},
		doc: "Consumes the first partition and produces to the second, exactly once: the group's offset is part of the transaction. " +
			"Its moments: started, written, offsets, committed.",
		app: func(a applicationWords) application.App {
			return application.Transform{TransactionalID: a.ids[0], Group: a.groups[0], From: a.partitions[0], To: a.partitions[1],
				Batch: a.numbers["batch"], Timeout: a.timeout}
		},
	},
	{
		name: "sink", words: []string{wordID, wordPartition, wordStore, wordPartition}, options: []string{"timeout"},
		doc: "Writes the first partition to the second by two-phase commit, as Flink does, with checkpoints in the store. The transactional id " +
			"is the prefix of one for each checkpoint. Its moments: written, checkpointed, committed.",
		app: func(a applicationWords) application.App {
			return application.Sink{Prefix: a.ids[0], From: a.partitions[0], State: a.stores[0], To: a.partitions[1],
				Batch: a.numbers["batch"], Timeout: a.timeout}
		},
	},
	{
		name: "streams", words: []string{wordID, wordGroup, wordTopic, wordTopic}, options: []string{"threads", "process", "timeout"},
		doc: "Transforms each partition of the first topic into that of the second, as Kafka Streams does with exactly_once_v2: a transactional id for each thread, " +
			"made of the id, the process (its name; without one process) and a number. Its moments: started, written, committed.",
		app: func(a applicationWords) application.App {
			return application.Streams{ID: a.ids[0], Process: a.process, Group: a.groups[0], From: a.topics[0], To: a.topics[1],
				Threads: a.numbers["threads"], Batch: a.numbers["batch"], Timeout: a.timeout}
		},
	},
	{
		name: "aborter", words: []string{wordID, wordPartition}, options: []string{"transactions", "every", "timeout"},
		doc: "Writes transactions to the partition and aborts every nth. Its moments: written, committed, aborted.",
		app: func(a applicationWords) application.App {
			return application.Aborter{TransactionalID: a.ids[0], To: a.partitions[0], Transactions: a.numbers["transactions"],
				Every: a.numbers["every"], Batch: a.numbers["batch"], Timeout: a.timeout}
		},
	},
	{
		name: "storm", words: []string{wordID, wordPartition}, options: []string{"instances", "turns", "timeout"},
		doc: "Instances with the same transactional id fence each other in turn, two unless it says otherwise, and begin anew. Its moments: turn.",
		app: func(a applicationWords) application.App {
			return application.Storm{TransactionalID: a.ids[0], To: a.partitions[0], Instances: a.numbers["instances"],
				Turns: a.numbers["turns"], Timeout: a.timeout}
		},
	},
}

func producerKind(name string, promise application.Promise, what string) applicationKind {
	return applicationKind{
		name: name, words: []string{wordStore, wordPartition}, options: []string{"lose-request", "lose-answer"},
		doc: "Sends every row of the store to the partition; the producer " + what + ". The nth request can be lost on its way, or its answer. Its moments: sent.",
		app: func(a applicationWords) application.App {
			return application.Producer{From: a.stores[0], To: a.partitions[0], Batch: a.numbers["batch"], Promise: promise,
				LoseRequest: a.numbers["lose-request"], LoseAnswer: a.numbers["lose-answer"]}
		},
	}
}

func consumerKind(name string, promise application.Promise, what string) applicationKind {
	return applicationKind{
		name: name, words: []string{wordKept, wordPartition, wordStore},
		doc: "Consumes the partition with effects in the store, " + what + " Offsets are the group's, or kept in the store together with the effects.",
		app: func(a applicationWords) application.App {
			return application.Consumer{Group: a.groups[0], From: a.partitions[0], Into: a.stores[0], Batch: a.numbers["batch"], Promise: promise}
		},
	}
}

func (k applicationKind) usage() string {
	words := append([]string{k.name}, k.words...)
	for _, option := range append([]string{"batch"}, k.options...) {
		value := "N"
		switch option {
		case "timeout":
			value = "DURATION"
		case "process":
			value = "NAME"
		}
		words = append(words, "["+option+"="+value+"]")
	}
	return strings.Join(append(words, "[crash=MOMENT[:N]]", "[pause=MOMENT[:N]]"), " ")
}

func (k applicationKind) parse(words []string) (Action, error) {
	args, err := parseArguments(words, append([]string{"batch", "crash", "pause"}, k.options...)...)
	if err != nil {
		return nil, err
	}
	if err := args.want(len(k.words), len(k.words)); err != nil {
		return nil, err
	}
	for i, word := range args.position {
		if err := checkWord(k.words[i], word); err != nil {
			return nil, err
		}
		// What it writes must not be what it reads: its input would never be used up.
		if i > 0 && (k.words[i] == wordPartition || k.words[i] == wordTopic) && slices.Contains(args.position[:i], word) {
			return nil, fmt.Errorf("%s cannot be both input and output; name another one", word)
		}
	}
	options, err := parseApplicationOptions(args.named)
	if err != nil {
		return nil, err
	}
	stop, err := parseStop(args.named)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		a := options
		for i, word := range args.position {
			if err := a.resolve(ctx, p, k.words[i], word); err != nil {
				return "", err
			}
		}
		return p.live(ctx, application.Start(performer{p}, k.app(a)), stop)
	}, nil
}

var storeSymbol = regexp.MustCompile(`^S\d+$`)

func checkWord(kind, word string) error {
	matches := map[string]func(string) bool{
		wordID:        idSymbol.MatchString,
		wordGroup:     groupSymbol.MatchString,
		wordKept:      func(word string) bool { return word == keptWord || groupSymbol.MatchString(word) },
		wordPartition: partitionWord.MatchString,
		wordTopic:     topicSymbol.MatchString,
		wordStore:     storeSymbol.MatchString,
	}
	if !matches[kind](word) {
		return fmt.Errorf("%s is no %s", word, kind)
	}
	return nil
}

func parseApplicationOptions(named map[string]string) (a applicationWords, err error) {
	a.numbers, a.process = map[string]int{}, "process"
	for option, value := range named {
		switch option {
		case "crash", "pause":
		case "process":
			a.process = value
		case "timeout":
			if a.timeout, err = parseTimeout(value); err != nil {
				return a, err
			}
		default:
			if a.numbers[option], err = parseCount(option, value); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// maxCount is the largest number that an application takes.
const maxCount = 1_000_000

func parseCount(what, word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > maxCount {
		return 0, fmt.Errorf("%s wants a number from 1 to %d, not %s", what, maxCount, word)
	}
	return n, nil
}

// resolve adds a word to those of its kind.
func (a *applicationWords) resolve(ctx context.Context, p *Play, kind, word string) error {
	name := ""
	var err error
	switch kind {
	case wordStore:
		a.stores = append(a.stores, p.store(word))
		return nil
	case wordTopic:
		a.topics = append(a.topics, p.topicName(word))
		return nil
	case wordPartition:
		var log keeper
		log, err = p.locate(ctx, partitionRef(word))
		a.partitions = append(a.partitions, application.Partition{Topic: log.topic, Number: log.partition})
		return err
	case wordID:
		name, err = p.name(ctx, word)
		a.ids = append(a.ids, name)
		return err
	}
	if word != keptWord {
		name, err = p.name(ctx, word)
	}
	a.groups = append(a.groups, name)
	return err
}

// store is the one that a text calls S1.
func (p *Play) store(symbol string) *application.Store {
	s := p.stores[symbol]
	if s == nil {
		s = &application.Store{}
		p.stores[symbol] = s
	}
	return s
}

// stop is where an instance does not go on.
type stop struct {
	moment application.Moment
	nth    int
	pause  bool
}

func parseStop(named map[string]string) (s stop, err error) {
	where, pause := named["pause"]
	crash, crashes := named["crash"]
	if crashes {
		where = crash
	}
	if pause && crashes {
		return s, fmt.Errorf("an instance crashes or pauses, not both")
	}
	moment, number, counted := strings.Cut(where, ":")
	s = stop{application.Moment(moment), 1, pause}
	if counted {
		if s.nth, err = strconv.Atoi(number); err != nil || s.nth < 1 {
			return s, fmt.Errorf("%s is no moment and number, such as written:2", where)
		}
	}
	return s, nil
}

// live lets an instance go on to its end, or to where it stops.
func (p *Play) live(ctx context.Context, l *application.Life, s stop) (string, error) {
	reached, err := l.Until(ctx, s.moment, s.nth)
	out := l.Counts.String()
	var refusal *kerr.Error
	switch {
	case reached && s.pause:
		p.lives = append(p.lives, l)
		return fmt.Sprintf("%s, paused L%d", out, len(p.lives)), nil
	case reached:
		l.Crash()
		return out + ", crashed", nil
	case err == nil, application.Fenced(err):
		return out, nil
	case errors.As(err, &refusal):
		return out + ", failed " + renderError(refusal.Code), nil
	}
	l.Crash()
	return "", err
}

var lifeSymbol = regexp.MustCompile(`^L\d+$`)

func parseWake(words []string) (Action, error) {
	args, err := parseArguments(words, "crash", "pause")
	if err != nil {
		return nil, err
	}
	if err := args.want(1, 1); err != nil {
		return nil, err
	}
	if !lifeSymbol.MatchString(args.position[0]) {
		return nil, fmt.Errorf("%s is no instance", args.position[0])
	}
	n, err := strconv.Atoi(args.position[0][1:])
	if err != nil {
		return nil, err
	}
	stop, err := parseStop(args.named)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		if n < 1 || n > len(p.lives) || p.lives[n-1] == nil {
			return "", fmt.Errorf("no instance L%d is paused", n)
		}
		l := p.lives[n-1]
		p.lives[n-1] = nil
		return p.live(ctx, l, stop)
	}, nil
}

func parseInsert(words []string) (Action, error) {
	if len(words) != 2 || !storeSymbol.MatchString(words[0]) {
		return nil, fmt.Errorf("insert wants a store and a number")
	}
	n, err := parseCount("insert", words[1])
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, p *Play) (string, error) {
		p.store(words[0]).Insert(n)
		return "", nil
	}, nil
}

func parseTally(words []string) (Action, error) {
	if len(words) != 3 || words[1] != "of" {
		return nil, fmt.Errorf("tally wants where records are, of, and where they came from")
	}
	for _, word := range []string{words[0], words[2]} {
		if !storeSymbol.MatchString(word) && !topicSymbol.MatchString(word) && !partitionWord.MatchString(word) {
			return nil, fmt.Errorf("%s is no store, partition or topic", word)
		}
	}
	return func(ctx context.Context, p *Play) (string, error) {
		arrived, err := p.keysOf(ctx, words[0], func(s *application.Store) []string { return s.Effects })
		if err != nil {
			return "", err
		}
		sent, err := p.keysOf(ctx, words[2], func(s *application.Store) []string { return s.Rows })
		if err != nil {
			return "", err
		}
		return application.Count(sent, arrived).String(), nil
	}, nil
}

// keysOf are the keys of the records in a store, a partition, or all partitions of
// a topic.
func (p *Play) keysOf(ctx context.Context, word string, of func(*application.Store) []string) ([]string, error) {
	switch {
	case storeSymbol.MatchString(word):
		return of(p.store(word)), nil
	case !topicSymbol.MatchString(word):
		log, err := p.locate(ctx, partitionRef(word))
		if err != nil {
			return nil, err
		}
		return application.Records(ctx, performer{p}, application.Partition{Topic: log.topic, Number: log.partition})
	}
	i := slices.IndexFunc(p.topics, func(t Topic) bool { return t.Symbol == word })
	if i < 0 {
		return nil, fmt.Errorf("the text has no topic %s", word)
	}
	var all []string
	for n := range p.topics[i].Partitions {
		keys, err := application.Records(ctx, performer{p}, application.Partition{Topic: p.topicName(word), Number: n})
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

// performer is the cluster as applications see it: what they ask is traced like
// everything else.
type performer struct{ p *Play }

func (c performer) Brokers() []int32 { return c.p.brokers }

func (c performer) Request(ctx context.Context, broker int32, client string, req kmsg.Request) (kmsg.Response, error) {
	return c.p.askAs(ctx, broker, client, req)
}

func (c performer) Now() time.Time { return c.p.cluster.Now() }

func (c performer) Wait(ctx context.Context, d time.Duration) error { return c.p.cluster.Wait(ctx, d) }
