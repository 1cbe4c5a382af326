package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario/application"
)

// Play is a scenario that is being played, as far as its commands know it: the
// cluster, and what the text's symbols stand for on it.
type Play struct {
	cluster  Cluster
	trace    func(Exchange) // told each request as it is answered; nil for nobody
	brokers  []int32
	offered  map[int16]span   // versions that the cluster serves, by API key
	features map[string]int16 // finalised features
	symbols  symbols
	names    map[string]string // X1, G1 → the real name
	logs     map[string]keeper // G1-log, X1-log
	members  map[string]classicMember

	prefix       string            // of the real names of topics, groups, ids and users
	topics       []Topic           // that the text declares
	coordinators map[string]string // X1 or G1 → broker letter, where the text says it

	stores map[string]*application.Store // S1, …
	lives  []*application.Life           // L1, …: instances that are paused; nil once they go on

	requests int                     // of the step that is carried out
	most     int                     // of one step
	giveUp   context.CancelCauseFunc // ends that step; nil between steps

	user string // as whom requests are made, "" for one who may do everything

	silent   map[int32]string // brokers that were paused ("paused") or ended ("down")
	altered  map[string]bool  // dynamic properties of all brokers to reset
	levels   map[string]int16 // of features that were changed, as they were before
	created  []string         // symbols of users to delete
	granted  []kmsg.CreateACLsRequestCreation
	injected []func(context.Context) error // F1, F2, …: what withdraws them; nil once it has
}

// keeper is the partition of an internal topic that keeps a group or id, with
// its log end offset when the scenario first named it: outputs count from there.
type keeper struct {
	topicPartition
	base int64
}

// classicMember is what the coordinator of a classic group has told a member.
type classicMember struct {
	id         string
	generation int32
	kind       string // its protocol type
}

func newPlay(cluster Cluster) *Play {
	return &Play{cluster: cluster, brokers: cluster.Brokers(),
		symbols: newSymbols(), names: map[string]string{}, logs: map[string]keeper{}, members: map[string]classicMember{},
		stores: map[string]*application.Store{},
		silent: map[int32]string{}, altered: map[string]bool{}, levels: map[string]int16{}}
}

// learnVersions asks what the cluster serves.
func (p *Play) learnVersions(ctx context.Context) error { return p.learnVersionsAt(ctx, p.brokers[0]) }

func (p *Play) learnVersionsAt(ctx context.Context, broker int32) error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "scenario", "1"
	answer, err := p.cluster.Request(ctx, broker, clientID, req)
	if err != nil {
		return fmt.Errorf("%w: ApiVersions to broker %d: %w", ErrNoAnswer, broker, err)
	}
	resp := answer.(*kmsg.ApiVersionsResponse)
	p.offered, p.features = map[int16]span{}, map[string]int16{}
	for _, k := range resp.ApiKeys {
		p.offered[k.ApiKey] = span{k.MinVersion, k.MaxVersion}
	}
	for _, f := range resp.FinalizedFeatures {
		p.features[f.Name] = f.MaxVersionLevel
	}
	return nil
}

// span is from where to where an API's versions reach.
type span struct{ lowest, highest int16 }

// apiKey is the key of an API by Kafka's name, or -1.
func apiKey(name string) int16 {
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if strings.EqualFold(kmsg.NameForKey(key), name) {
			return key
		}
	}
	return -1
}

const clientID = "scenario"

// adminClientID may write to internal topics, as Kafka allows by this very name.
const adminClientID = "__admin_client"

// preferred are the versions of requests whose text names none, if the cluster
// serves them; else its highest. They are the last ones that carry names, not
// topic ids.
var preferred = map[int16]int16{0: 12, 1: 12, 2: 11, 3: 12, 8: 9, 9: 9}

// version is the version in which to send a request: the one that the text
// names, else the preferred one.
func (p *Play) version(key int16, named int16) int16 {
	if named >= 0 {
		return named
	}
	v, ok := preferred[key]
	if !ok {
		v = kmsg.RequestForKey(key).MaxVersion()
	}
	if offered, known := p.offered[key]; known {
		v = min(v, offered.highest)
	}
	return v
}

// Exchange is one request with its answer, as it happened.
type Exchange struct {
	Begin, End time.Time // on the cluster's clock
	Broker     int32
	Request    kmsg.Request
	Response   kmsg.Response // nil if Err is not
	Err        error
}

// ask sends a request whose version is set and waits for the answer.
func (p *Play) ask(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	return p.askAs(ctx, broker, clientID, req)
}

func (p *Play) askAs(ctx context.Context, broker int32, client string, req kmsg.Request) (kmsg.Response, error) {
	if err := p.count(); err != nil {
		return nil, err
	}
	begin := p.cluster.Now()
	var resp kmsg.Response
	var err error
	if p.user == "" {
		resp, err = p.cluster.Request(ctx, broker, client, req)
	} else {
		resp, err = p.cluster.(Users).RequestAs(ctx, broker, p.user, client, req)
	}
	if p.trace != nil {
		p.trace(Exchange{Begin: begin, End: p.cluster.Now(), Broker: broker, Request: req, Response: resp, Err: err})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s to broker %d: %w", ErrNoAnswer, kmsg.NameForKey(req.Key()), broker, err)
	}
	return resp, nil
}

// lookUp is ask by one who may do everything, whoever gives the command.
func (p *Play) lookUp(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	user := p.user
	p.user = ""
	defer func() { p.user = user }()
	return p.ask(ctx, broker, req)
}

// broker is the node id of a letter.
func (p *Play) broker(letter string) (int32, error) {
	i := int(letter[0] - 'A')
	if !brokerLetter.MatchString(letter) || i >= len(p.brokers) {
		return 0, fmt.Errorf("no broker %s", letter)
	}
	return p.brokers[i], nil
}

// letterOf renders a node id; -1 is "none".
func (p *Play) letterOf(broker int32) string {
	if broker < 0 {
		return "none"
	}
	if i := slices.Index(p.brokers, broker); i >= 0 {
		return letter(i)
	}
	return fmt.Sprintf("broker %d", broker)
}

func (p *Play) lettersOf(brokers []int32) string {
	letters := make([]string, len(brokers))
	for i, b := range slices.Sorted(slices.Values(brokers)) {
		letters[i] = p.letterOf(b)
	}
	return "[" + strings.Join(letters, " ") + "]"
}

// anyBroker is the first broker that the scenario has left in peace.
func (p *Play) anyBroker() (int32, error) {
	for _, b := range p.brokers {
		if p.silent[b] == "" {
			return b, nil
		}
	}
	return 0, fmt.Errorf("%w: no broker is left", ErrNoAnswer)
}

// renderError prints an error as Kafka names it, with its code.
func renderError(code int16) string {
	switch code {
	case 0:
		return ok
	case kerr.NotLeaderForPartition.Code:
		return fmt.Sprintf("NOT_LEADER_OR_FOLLOWER(%d)", code) // kerr has the name of before Kafka 2.6
	}
	if e, known := kerr.ErrorForCode(code).(*kerr.Error); known {
		return fmt.Sprintf("%s(%d)", e.Message, code)
	}
	return fmt.Sprintf("UNKNOWN(%d)", code)
}

const ok = "ok"

// topicName is the real name of a topic symbol, declared or not.
func (p *Play) topicName(symbol string) string {
	return p.prefix + strings.ToLower(symbol)
}

// userName is the real name of U1.
func (p *Play) userName(symbol string) string {
	return p.prefix + strings.ToLower(symbol)
}

// symbolOf renders a partition as texts do; one that the text has no symbol for
// keeps its name.
func (p *Play) symbolOf(topic string, partition int32) string {
	if symbol, found := strings.CutPrefix(topic, p.prefix); found {
		return fmt.Sprintf("%s-%d", strings.ToUpper(symbol), partition)
	}
	for _, symbol := range slices.Sorted(maps.Keys(p.logs)) {
		if p.logs[symbol].topicPartition == (topicPartition{topic, partition}) {
			return symbol + "-log"
		}
	}
	return fmt.Sprintf("%s-%d", topic, partition)
}

// idSymbolOf is the symbol of a transactional id, or "" if it is not of this
// scenario.
func (p *Play) idSymbolOf(name string) string {
	for _, symbol := range slices.Sorted(maps.Keys(p.names)) {
		if symbol[0] == 'X' && p.names[symbol] == name {
			return symbol
		}
	}
	return ""
}

// count counts a request of a step, and gives the step up when there were too
// many.
func (p *Play) count() error {
	if p.giveUp == nil {
		return nil // of the preparation, which has its deadlines
	}
	if p.requests >= p.most {
		err := fmt.Errorf("%w: %d requests were made, as many as a step may make; what it reads must not grow by what it does, and what it repeats must be fewer", errEndless, p.most)
		p.giveUp(err)
		return err
	}
	p.requests++
	return nil
}

// errEndless is why a step is given up that makes more and more requests.
var errEndless = errors.New("it has no end")

// How long a cluster is waited for.
const (
	prepareWithin = 60 * time.Second      // for each part of the preparation
	pollPeriod    = 20 * time.Millisecond // between two attempts
)

// until repeats try until it holds.
func (p *Play) until(ctx context.Context, what string, try func() (bool, error)) error {
	deadline := p.cluster.Now().Add(prepareWithin)
	for {
		done, err := try()
		if err != nil && !errors.Is(err, ErrNoAnswer) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			return nil
		}
		if !p.cluster.Now().Before(deadline) {
			return fmt.Errorf("%s: not within %v (%v)", what, prepareWithin, err)
		}
		if err := p.cluster.Wait(ctx, pollPeriod); err != nil {
			return err
		}
	}
}
