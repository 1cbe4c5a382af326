package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/exporter-toolkit/web"
)

// Sources are the places that settings come from.
type Sources struct {
	// File is the configuration file; empty to look at the environment
	// variable LSO_EXPORTER_CONFIG_FILE, and without that to read no file.
	File string
	// Environment holds NAME=VALUE entries, as os.Environ gives them.
	Environment []string
	// Flags are the flags that were given; nil for none.
	Flags *Flags
	// Offline is for commands that reach no cluster: the variable that a secret
	// of the file refers to need not be set. The secret is of no use then.
	Offline bool
}

// Origin is where a setting's value comes from.
type Origin struct {
	// Source is a file's name, "environment" or "command line"; empty for the
	// default.
	Source string
	// Line is the line in the file, from 1; 0 outside a file.
	Line int
	// Key names the setting the way Source does.
	Key string
}

// String is the origin as "config print" shows it.
func (o Origin) String() string {
	switch {
	case o.Source == "":
		return "default"
	case o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Source, o.Line)
	}
	return o.Source
}

// An assignment is a value that one source has for one setting.
type assignment struct {
	setting setting
	texts   []string
	written []string // texts before ${NAME} was replaced; nil outside a file
	shown   string   // the value as a Problem names it
	origin  Origin
}

// Loaded is what the sources said, each value by itself known to be good.
// [Loaded.Validated] makes a [Config] of it.
type Loaded struct {
	config  Config
	file    string
	digest  string // of all files, as they were read
	origins map[string]Origin
	// written holds the texts of settings whose value came from a ${NAME},
	// which is shown in its place: what was kept out of the file stays out of
	// what is printed.
	written map[string][]string
}

const (
	fromEnvironment = "environment"
	fromCommandLine = "command line"
)

// OnCommandLine is a problem with a flag, or with a word that is none if key is
// empty.
func OnCommandLine(key, value, fault string) Problem {
	return Problem{Source: fromCommandLine, Key: key, Value: value, Fault: fault}
}

// configFileVariable names the file when no flag does.
const configFileVariable = environmentPrefix + "CONFIG_FILE"

// Load reads all sources. Its error is [Problems], with every value that is
// wrong in itself.
func Load(sources Sources) (*Loaded, error) { return LoadContext(context.Background(), sources) }

// LoadContext is Load for who may be told to stop while the file, which may be
// a pipe, is waited for.
func LoadContext(ctx context.Context, sources Sources) (*Loaded, error) {
	environment := make(map[string]string)
	for _, entry := range sources.Environment {
		name, value, _ := strings.Cut(entry, "=")
		environment[name] = value
	}
	loaded := &Loaded{
		config: defaults(), file: sources.File,
		origins: make(map[string]Origin), written: make(map[string][]string),
	}
	if loaded.file == "" {
		loaded.file = environment[configFileVariable]
	}
	var assignments []assignment
	var content []byte
	var problems Problems
	if loaded.file != "" {
		assignments, content, problems = readFile(ctx, loaded.file, environment, sources.Offline)
	}
	fromVariables, unknown := readEnvironment(environment)
	assignments = append(assignments, fromVariables...)
	problems = append(problems, unknown...)
	if sources.Flags != nil {
		assignments = append(assignments, sources.Flags.assignments...)
	}
	for _, a := range assignments { // later ones win
		if problem := loaded.assign(a); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if len(problems) > 0 {
		// Problems of one file come from two passes.
		slices.SortStableFunc(problems, func(a, b Problem) int {
			if a.Source != b.Source {
				return 0
			}
			return a.Line - b.Line
		})
		return nil, problems
	}
	loaded.digest = digest(loaded.Files(), map[string][]byte{loaded.file: content})
	return loaded, nil
}

// readEnvironment finds the variables that hold settings.
func readEnvironment(environment map[string]string) ([]assignment, Problems) {
	var assignments []assignment
	variables := []string{strings.TrimPrefix(configFileVariable, environmentPrefix)}
	for _, s := range settings {
		name := s.environment()
		variables = append(variables, strings.TrimPrefix(name, environmentPrefix))
		text, set := environment[name]
		if !set {
			continue
		}
		texts := []string{text}
		if s.kind.list {
			texts = splitList(text)
		}
		assignments = append(assignments, assignment{
			setting: s, texts: texts, shown: s.shown(text),
			origin: Origin{Source: fromEnvironment, Key: name},
		})
	}
	var problems Problems
	for name, value := range environment {
		if !strings.HasPrefix(name, environmentPrefix) || slices.Contains(variables, strings.TrimPrefix(name, environmentPrefix)) || serviceLink.MatchString(name) {
			continue
		}
		meant := Suggestion(strings.TrimPrefix(name, environmentPrefix), variables, environmentPrefix)
		problems = append(problems, Problem{
			Source: fromEnvironment, Key: name, Value: Shown(name+meant, value),
			Fault: "is an unknown variable; remove it" + meant,
		})
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return assignments, problems
}

// serviceLink matches the variables with which Kubernetes tells every pod about
// a Service whose name begins with lso-exporter. They are not ours to judge.
var serviceLink = regexp.MustCompile(`^LSO_EXPORTER_(?:.*_)?(?:SERVICE_HOST|SERVICE_PORT(?:_.*)?|PORT(?:_.*)?)$`)

// quoted matches what a fault quotes of a value. Where the value came from a
// ${NAME}, it is left out: it may be a secret.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|` + "`[^`]*`")

func (l *Loaded) assign(a assignment) *Problem {
	referred := a.written != nil && !slices.Equal(a.written, a.texts)
	err := areText(a.texts)
	if err == nil && len(a.texts) > 1 && slices.Contains(a.texts, "") {
		err = errors.New("has an empty entry; remove it, with its comma")
	}
	if err == nil {
		err = a.setting.set(&l.config, a.texts)
	}
	if err == nil && a.setting.kind.secret && a.origin.Source == fromCommandLine && a.shown == shownSecret {
		err = fmt.Errorf("stands where every user of this machine can read it; write the file that holds it, such as file:/run/secrets/password, or set %s", a.setting.environment())
	}
	if err != nil {
		fault := err.Error()
		if referred {
			fault = quoted.ReplaceAllLiteralString(fault, "…")
		}
		return &Problem{
			Source: a.origin.Source, Line: a.origin.Line, Key: a.origin.Key,
			Value: a.shown, Fault: fault,
		}
	}
	l.origins[a.setting.key] = a.origin
	delete(l.written, a.setting.key)
	if referred && !(a.setting.kind.secret && maskSecret(a.written[0]) == shownSecret) {
		l.written[a.setting.key] = a.written
	}
	return nil
}

// areText complains of what a file cannot hold, and variables and flags can.
func areText(texts []string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return errors.New("is not UTF-8 text; write it in UTF-8")
		}
	}
	return nil
}

// Validated checks what no setting can tell by itself: that what is required
// is there, that settings agree with each other, and that files they name can
// be read. Its error is [Problems].
func (l *Loaded) Validated() (Config, error) { return l.validated(true) }

// ValidatedOffline is Validated for commands that reach no cluster: it does not
// require brokers.
func (l *Loaded) ValidatedOffline() (Config, error) { return l.validated(false) }

func (l *Loaded) validated(reachesCluster bool) (Config, error) {
	c := l.config
	var problems Problems
	complain := func(key, fault string) { problems = append(problems, l.problem(key, fault)) }

	if reachesCluster && len(c.Kafka.Brokers) == 0 {
		complain("kafka.brokers", "is empty; list at least one host:port there, in --kafka.brokers or in LSO_EXPORTER_KAFKA_BROKERS")
	}
	if c.Sweep.Timeout == 0 {
		c.Sweep.Timeout = c.Sweep.Interval * 3 / 4
	}
	if c.Sweep.Timeout > c.Sweep.Interval {
		complain("sweep.timeout", fmt.Sprintf("is longer than sweep.interval (%s), when the next sweep is due; shorten it or lengthen the interval", brief(c.Sweep.Interval)))
	}
	if c.Kafka.RequestTimeout == 0 {
		tenth := min(max(c.Sweep.Interval/10, 250*time.Millisecond), 2*time.Second)
		c.Kafka.RequestTimeout = min(tenth, c.Sweep.Timeout/4)
	}
	if c.Kafka.RequestTimeout > c.Sweep.Timeout {
		complain("kafka.request_timeout", fmt.Sprintf("is longer than sweep.timeout (%s), when nobody waits for an answer; shorten it or lengthen that", brief(c.Sweep.Timeout)))
	}
	if c.Alerts.ExporterStale == 0 {
		c.Alerts.ExporterStale = 3*c.Sweep.Interval + 2*time.Minute
	}
	if least := 3 * c.Sweep.Interval; c.Alerts.ExporterStale < least {
		complain("alerts.exporter_stale", fmt.Sprintf("is shorter than three times sweep.interval (%s), and views of that age are served; lengthen it", brief(least)))
	}
	c.checkSecurity(complain, reachesCluster)
	c.checkScope(complain)
	for _, s := range settings {
		if s.verify != nil && reachesCluster {
			if err := s.verify(&c); err != nil {
				complain(s.key, err.Error())
			}
		}
	}
	if c.Web.ConfigFile != "" {
		if err := checkWebConfigFile(c.Web.ConfigFile); err != nil {
			complain("web.config_file", fmt.Sprintf("is no good web configuration file (%s); mend that file, or name another", strings.Join(strings.Fields(err.Error()), " ")))
		}
	}
	if len(problems) > 0 {
		return Config{}, problems
	}
	return c, nil
}

// checkWebConfigFile opens the file first, as the toolkit's own complaint about
// a missing file names the path once more.
func checkWebConfigFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	f.Close()
	return web.Validate(name)
}

// checkScope complains of a scope that is not told, or told without effect, or
// that other settings contradict.
func (c *Config) checkScope(complain func(key, fault string)) {
	members, ids := c.Scope.Host != "" || c.Scope.ClientID != nil, c.Scope.TransactionalIDs != nil
	switch c.Scope.Kind {
	case ScopeAll:
		if members {
			complain("scope.kind", fmt.Sprintf("leaves scope.host and scope.client_id without effect; write %s, or remove them", ScopeAssigned))
		}
		if ids {
			complain("scope.kind", fmt.Sprintf("leaves scope.transactional_ids without effect; write %s, or remove it", ScopeTransactionalID))
		}
	case ScopeAssigned:
		switch {
		case !members:
			complain("scope.kind", "needs to be told the members; set scope.host, scope.client_id or both")
		case ids:
			complain("scope.kind", "leaves scope.transactional_ids without effect; remove it")
		case c.Granularity != GranularityPartition:
			complain("granularity", fmt.Sprintf("does not go with scope.kind %s, which shows nothing but partitions; write %s", ScopeAssigned, GranularityPartition))
		case !c.Collectors.Groups:
			complain("collectors.groups", fmt.Sprintf("does not go with scope.kind %s, which groups tell; write true", ScopeAssigned))
		}
	case ScopeTransactionalID:
		switch {
		case !ids:
			complain("scope.kind", "needs to be told the ids; set scope.transactional_ids")
		case members:
			complain("scope.kind", "leaves scope.host and scope.client_id without effect; remove them")
		case !c.Collectors.Transactions:
			complain("collectors.transactions", fmt.Sprintf("does not go with scope.kind %s, which coordinators tell; write true", ScopeTransactionalID))
		}
	}
}

// problem is a problem with the value that a setting has, wherever that came
// from.
func (l *Loaded) problem(key, fault string) Problem {
	at := slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
	origin := l.origins[key]
	if origin.Source == "" {
		origin.Source, origin.Key = "configuration", key
		if l.file != "" {
			origin.Source = l.file
		}
	}
	return Problem{
		Source: origin.Source, Line: origin.Line, Key: origin.Key,
		Value: strings.Join(l.texts(settings[at]), ","), Fault: fault,
	}
}

// texts is a setting's value as it may be shown.
func (l *Loaded) texts(s setting) []string {
	if written, ok := l.written[s.key]; ok {
		return written
	}
	return s.get(&l.config)
}
