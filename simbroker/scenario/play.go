package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario/application"
)

// Play is a scenario that is being played: the cluster, and what the text's
// symbols stand for on it.
type Play struct {
	scenario *Scenario
	cluster  Cluster
	opts     Options
	brokers  []int32
	offered  map[int16]span   // versions that the cluster serves, by API key
	features map[string]int16 // finalised features
	symbols  symbols
	names    map[string]string // X1, G1 → the real name
	logs     map[string]keeper // G1-log, X1-log
	members  map[string]classicMember
	within   time.Duration

	stores map[string]*application.Store // S1, …
	lives  []*application.Life           // L1, …: instances that are paused; nil once they go on

	requests int                     // of the step that is carried out
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

func newPlay(ctx context.Context, s *Scenario, cluster Cluster, opts Options) (*Play, error) {
	p := &Play{scenario: s, cluster: cluster, opts: opts, brokers: cluster.Brokers(),
		symbols: newSymbols(), names: map[string]string{}, logs: map[string]keeper{}, members: map[string]classicMember{},
		stores: map[string]*application.Store{},
		within: opts.Within, silent: map[int32]string{}, altered: map[string]bool{}, levels: map[string]int16{}}
	if p.within == 0 {
		p.within = DefaultWithin
	}
	if err := p.learnVersions(ctx); err != nil {
		return nil, s.at(0, err)
	}
	return p, p.checkRequirements()
}

// Offered says whether the cluster has what the scenario requires. The error
// wraps ErrNotOffered if it has not, and names what is missing.
func (s *Scenario) Offered(ctx context.Context, cluster Cluster) error {
	_, err := newPlay(ctx, s, cluster, Options{})
	return err
}

func (p *Play) checkRequirements() error {
	s := p.scenario
	if n := s.Brokers; len(p.brokers) < n {
		return s.at(s.LineOf("brokers", ""), fmt.Errorf("%w: brokers %d", ErrNotOffered, n))
	}
	for _, r := range s.Requirements {
		if !p.meets(r) {
			return s.at(s.LineOf("requires", r.Name), fmt.Errorf("%w: %v", ErrNotOffered, r))
		}
	}
	for _, step := range s.Steps {
		if !p.serves(step.needs) {
			return s.at(step.Line, fmt.Errorf("%w: %s in version %d", ErrNotOffered, step.needs.Name, step.needs.Level))
		}
	}
	if s.Vendor != "" {
		if c, ok := facet[Vendored](p.cluster); !ok || c.Vendor() != s.Vendor {
			return s.at(s.LineOf("vendor", ""), fmt.Errorf("%w: vendor %s", ErrNotOffered, s.Vendor))
		}
	}
	if _, ok := p.cluster.(Users); !ok && len(s.users()) > 0 {
		return s.at(0, fmt.Errorf("%w: users", ErrNotOffered))
	}
	if _, ok := facet[Injector](p.cluster); !ok && len(s.Faults()) > 0 {
		return s.at(s.Faults()[0].Line, fmt.Errorf("%w: faults", ErrNotOffered))
	}
	return nil
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

func (p *Play) meets(r Requirement) bool {
	if key := apiKey(r.Name); key >= 0 {
		offered, known := p.offered[key]
		return known && offered.highest >= r.Level
	}
	level := p.features[r.Name]
	if i := slices.IndexFunc(p.scenario.Features, func(f Feature) bool { return f.Name == r.Name }); i >= 0 {
		level = p.levelOf(p.scenario.Features[i])
	}
	return level >= r.Level
}

// span is from where to where an API's versions reach.
type span struct{ lowest, highest int16 }

// serves says whether the cluster can be asked in the version that a step names.
// A name that is none needs nothing.
func (p *Play) serves(r Requirement) bool {
	if r.Name == "" {
		return true
	}
	offered, known := p.offered[apiKey(r.Name)]
	return known && offered.lowest <= r.Level && r.Level <= offered.highest
}

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
	if p.opts.Trace != nil {
		p.opts.Trace(Exchange{Begin: begin, End: p.cluster.Now(), Broker: broker, Request: req, Response: resp, Err: err})
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
	return p.opts.Namespace + p.scenario.Name + "-" + strings.ToLower(symbol)
}

// locate finds the partition that a text names. G1-log and X1-log look up the
// group or id, which creates the internal topic if need be.
func (p *Play) locate(ctx context.Context, ref partitionRef) (keeper, error) {
	symbol, rest := ref.split()
	if symbol[0] == 'T' {
		var partition int32
		if _, err := fmt.Sscan(rest, &partition); err != nil {
			return keeper{}, fmt.Errorf("%s is no partition", ref)
		}
		return keeper{topicPartition: topicPartition{p.topicName(symbol), partition}}, nil
	}
	if _, err := p.name(ctx, symbol); err != nil {
		return keeper{}, err
	}
	return p.logs[symbol], nil
}

// symbolOf renders a partition as texts do; one that the text has no symbol for
// keeps its name.
func (p *Play) symbolOf(topic string, partition int32) string {
	if symbol, found := strings.CutPrefix(topic, p.opts.Namespace+p.scenario.Name+"-"); found {
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
