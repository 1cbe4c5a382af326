package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/alecthomas/kingpin/v2"
)

// inFile writes content to a file and makes its folder the working directory,
// so that problems name it "exporter.yml".
func inFile(t *testing.T, content string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("exporter.yml", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return "exporter.yml"
}

// parsed gives the flags of a command line.
func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	app := kingpin.New("lso-exporter", "")
	flags := AddFlags(app.Command("serve", "").Default())
	if _, err := app.Parse(append([]string{"serve"}, args...)); err != nil {
		t.Fatal(err)
	}
	return flags
}

func loadAndValidate(sources Sources) (Config, error) {
	loaded, err := Load(sources)
	if err != nil {
		return Config{}, err
	}
	return loaded.Validated()
}

const brokers = "kafka: {brokers: [kafka-1:9092]}\n"

func TestDefaults(t *testing.T) {
	got, err := loadAndValidate(Sources{File: inFile(t, brokers)})
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile("^(?s:.*)$")
	want := Config{
		Kafka:        Kafka{Brokers: []string{"kafka-1:9092"}, ClientID: "lso-exporter", RequestTimeout: time.Second, SASL: SASL{Mechanism: "none"}},
		Sweep:        Sweep{Interval: 10 * time.Second, Timeout: 7500 * time.Millisecond},
		Collectors:   Collectors{Offsets: true, Groups: true, Transactions: true, Replicas: true, Audit: true},
		Transactions: Transactions{LookUpAfter: 10 * time.Second, CensusInterval: time.Minute, Applications: defaultApplications()},
		GroupStates:  GroupStates{StillAfter: time.Minute, ReadableLag: true, TimeIndex: true, PendingCommits: true},
		Audit:        Audit{Interval: 10 * time.Minute},
		Alerts: Alerts{
			Stalled: 10 * time.Minute, Overdue: time.Minute, Completing: time.Minute, PendingCommit: 5 * time.Minute,
			CoordinatorCompleting: 5 * time.Minute,
			GroupBlocked:          5 * time.Minute, GroupStopped: 5 * time.Minute,
			GroupLag:    []LagObjective{{Groups: all, Offsets: 100_000, Age: 10 * time.Minute}},
			GroupLagFor: 5 * time.Minute, Commits: 5 * time.Minute, GroupSeen: 24 * time.Hour,
			ExporterDown: 5 * time.Minute, ExporterStale: 150 * time.Second, ExporterIncomplete: 15 * time.Minute,
			ExporterReload: 10 * time.Minute,
			KeepFiring:     5 * time.Minute,
			Runbooks:       "https://github.com/lso-exporter/lso-exporter/blob/main/docs/runbooks/",
		},
		Granularity: GranularityPartition,
		Topics:      Filter{Include: all},
		Groups:      Filter{Include: all},
		Scope:       Scope{Kind: ScopeAll},
		Web:         Web{ListenAddresses: []string{":10308"}, TelemetryPath: "/metrics"},
		Reload:      Reload{Interval: 5 * time.Second},
		Log:         Log{Level: "info", Format: "text"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// Every setting, from every source, lands in its own field.
func TestEverySettingFromEverySource(t *testing.T) {
	values := map[string]struct{ text, yaml string }{
		"cluster":                        {text: "blue"},
		"granularity":                    {text: "topic"},
		"kafka.brokers":                  {text: "a:1,b:2", yaml: "[a:1, b:2]"},
		"kafka.client_id":                {text: "me"},
		"kafka.request_timeout":          {text: "3s"},
		"kafka.tls.enabled":              {text: "true"},
		"kafka.tls.ca_file":              {text: "ca.pem"},
		"kafka.tls.cert_file":            {text: "client.crt"},
		"kafka.tls.key_file":             {text: "client.key"},
		"kafka.tls.server_name":          {text: "kafka"},
		"kafka.tls.insecure_skip_verify": {text: "true"},
		"kafka.sasl.mechanism":           {text: "SCRAM-SHA-256"},
		"kafka.sasl.username":            {text: "alice"},
		"kafka.sasl.password":            {text: "file:password"},
		"kafka.sasl.oauth.token_url":     {text: "https://sso.example/token"},
		"kafka.sasl.oauth.client_id":     {text: "exporter"},
		"kafka.sasl.oauth.client_secret": {text: "file:secret"},
		"kafka.sasl.oauth.scopes":        {text: "kafka,read", yaml: "[kafka, read]"},
		"kafka.sasl.oauth.extensions":    {text: "a=1,b=2", yaml: "[a=1, b=2]"},
		"kafka.sasl.oauth.ca_file":       {text: "sso.pem"},
		"sweep.interval":                 {text: "20s"},
		"sweep.timeout":                  {text: "15s"},
		"collectors.offsets":             {text: "false"},
		"collectors.groups":              {text: "false"},
		"collectors.transactions":        {text: "false"},
		"collectors.replicas":            {text: "false"},
		"collectors.txnlog":              {text: "true"},
		"collectors.audit":               {text: "false"},
		"transactions.look_up_after":     {text: "30s"},
		"transactions.census_interval":   {text: "2m"},
		"transactions.applications":      {text: "streams,team-(.*)-x", yaml: "[streams, team-(.*)-x]"},
		"alerts.coordinator_completing":  {text: "2m"},
		"audit.interval":                 {text: "1m", yaml: "1m"},
		"alerts.stalled":                 {text: "3m"},
		"alerts.overdue":                 {text: "2m"},
		"alerts.completing":              {text: "2m"},
		"alerts.pending_commit":          {text: "2m"},
		"alerts.group_blocked":           {text: "2m"},
		"alerts.group_stopped":           {text: "2m"},
		"alerts.group_lag":               {text: "billing-.* 1000 1m30s,batch - 1h,.* 5 -", yaml: `["billing-.* 1000 1m30s", "batch  - 60m", .* 5 -]`},
		"alerts.group_lag_for":           {text: "2m"},
		"alerts.commits":                 {text: "2m"},
		"alerts.group_seen":              {text: "48h"},
		"alerts.exporter_down":           {text: "2m"},
		"alerts.exporter_stale":          {text: "2m"},
		"alerts.exporter_incomplete":     {text: "2m"},
		"alerts.exporter_reload":         {text: "2m"},
		"alerts.keep_firing":             {text: "0s"},
		"alerts.runbooks":                {text: "https://wiki.example/"},
		"topics.include":                 {text: "orders-.*"},
		"topics.exclude":                 {text: "orders-old"},
		"groups.include":                 {text: "g.*"},
		"groups.exclude":                 {text: "gone"},
		"groups.still_after":             {text: "2m"},
		"groups.read_uncommitted":        {text: "dirty-.*"},
		"groups.readable_lag":            {text: "false"},
		"groups.time_index":              {text: "false"},
		"groups.pending_commits":         {text: "false"},
		"compatibility.kafka_exporter":   {text: "true"},
		"scope.kind":                     {text: "assigned"},
		"scope.host":                     {text: "10.1.2.3"},
		"scope.client_id":                {text: "app-.*"},
		"scope.transactional_ids":        {text: "app-.*"},
		"web.listen_address":             {text: "127.0.0.1:0,[::1]:0", yaml: `["127.0.0.1:0", "[::1]:0"]`},
		"web.config_file":                {text: "web.yml"},
		"web.health_listen_address":      {text: "127.0.0.1:0"},
		"web.telemetry_path":             {text: "/m"},
		"reload.interval":                {text: "1m"},
		"log.level":                      {text: "debug"},
		"log.format":                     {text: "json"},
	}
	if len(values) != len(settings) {
		t.Errorf("%d settings are declared and %d tried", len(settings), len(values))
	}
	fallback := defaults()
	for _, s := range settings {
		t.Run(s.key, func(t *testing.T) {
			value, ok := values[s.key]
			if !ok {
				t.Fatal("not tried")
			}
			inYAML := value.yaml
			if inYAML == "" {
				inYAML = value.text
			}
			line := ""
			for depth, part := range strings.Split(s.key, ".") {
				line += "\n" + strings.Repeat("  ", depth) + part + ":"
			}
			line += " " + inYAML + "\n"
			flag := "--" + s.flag + "=" + value.text
			switch {
			case s.kind == boolKind && value.text == "true":
				flag = "--" + s.flag
			case s.kind == boolKind:
				flag = "--no-" + s.flag
			}
			for name, sources := range map[string]Sources{
				"file":        {File: inFile(t, line)},
				"environment": {Environment: []string{s.environment() + "=" + value.text}},
				"flag":        {Flags: parsed(t, flag)},
			} {
				loaded, err := Load(sources)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for _, other := range settings {
					got, want := inline(other.get(&loaded.config)), inline(other.get(&fallback))
					if other.key == s.key {
						want = value.text
					}
					if got != want {
						t.Errorf("from %s, %s is %q, want %q", name, other.key, got, want)
					}
				}
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	file := inFile(t, brokers+"log:\n  level: warn\n  format: json\nsweep:\n  interval: 1s\n")
	got, err := loadAndValidate(Sources{
		Environment: []string{
			"LSO_EXPORTER_CONFIG_FILE=" + file,
			"LSO_EXPORTER_LOG_LEVEL=error",
			"LSO_EXPORTER_SWEEP_INTERVAL=2s",
			"LSO_EXPORTER_KAFKA_BROKERS= a:1 , b:2,",
		},
		Flags: parsed(t, "--sweep.interval=3s", "--kafka.brokers=c:3", "--kafka.brokers=d:4,e:5"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Log.Format != "json" || got.Log.Level != "error" || got.Sweep.Interval != 3*time.Second {
		t.Errorf("file, environment and flag gave %q, %q, %v; want json, error, 3s", got.Log.Format, got.Log.Level, got.Sweep.Interval)
	}
	if want := []string{"c:3", "d:4", "e:5"}; !reflect.DeepEqual(got.Kafka.Brokers, want) {
		t.Errorf("brokers %v, want %v: a list is replaced, not appended to", got.Kafka.Brokers, want)
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name string
		file string
		env  []string
		args []string
		want []string
	}{
		{
			name: "unknown key, near to a known one",
			file: brokers + "sweep:\n  intervall: 10s\n",
			want: []string{`exporter.yml:3: sweep.intervall = "10s" is an unknown key; remove it; did you mean sweep.interval?`},
		},
		{
			name: "known key in the wrong section",
			file: brokers + "sweep:\n  level: debug\n",
			want: []string{`exporter.yml:3: sweep.level = "debug" is an unknown key; remove it; did you mean log.level?`},
		},
		{
			name: "unknown section",
			file: brokers + "kafak: {brokers: [a:1]}\n",
			want: []string{`exporter.yml:2: kafak = "{brokers: [a:1]}" is an unknown key; remove it; did you mean kafka?`},
		},
		{
			name: "unknown key, near to nothing",
			file: brokers + "colour: red\n",
			want: []string{`exporter.yml:2: colour = "red" is an unknown key; remove it`},
		},
		{
			name: "same key twice",
			file: brokers + "cluster: a\ncluster: b\n",
			want: []string{`exporter.yml:3: cluster = "b" stands in line 2 already; remove one of the two`},
		},
		{
			name: "objective without its age",
			file: brokers + "alerts:\n  group_lag: [.* 5]\n",
			want: []string{`exporter.yml:3: alerts.group_lag = "[.* 5]" has the entry ".* 5", which is no objective; write a regular expression for groups, offsets and an age, such as "billing-.* 10000 5m", with - for no limit`},
		},
		{
			name: "objectives that are none",
			file: brokers,
			args: []string{"--alerts.group-lag=( 1 1s"},
			want: []string{`command line: --alerts.group-lag = "( 1 1s" has the entry "( 1 1s", which is not a regular expression (missing closing ): ` + "`(`" + `); mend it by the RE2 syntax, https://github.com/google/re2/wiki/Syntax`},
		},
		{
			name: "objective of no offsets",
			file: brokers,
			args: []string{"--alerts.group-lag=.* 0 1s"},
			want: []string{`command line: --alerts.group-lag = ".* 0 1s" has the entry ".* 0 1s", which has "0" for offsets; write a number above 0, or - for no limit`},
		},
		{
			name: "objective with a number for an age",
			file: brokers,
			args: []string{"--alerts.group-lag=.* - 60"},
			want: []string{`command line: --alerts.group-lag = ".* - 60" has the entry ".* - 60", which has "60" for an age; write a number with its unit (s, m or h), at least 1s, or - for no limit`},
		},
		{
			name: "two objectives for the same groups",
			file: brokers,
			args: []string{"--alerts.group-lag=a 1 -", "--alerts.group-lag=a 2 -"},
			want: []string{`command line: --alerts.group-lag = "a 1 -,a 2 -" has two entries for a, of which the second would never count; remove one`},
		},
		{
			name: "stale before a view expires",
			file: brokers + "alerts: {exporter_stale: 20s}\n",
			want: []string{`exporter.yml:2: alerts.exporter_stale = "20s" is shorter than three times sweep.interval (30s), and views of that age are served; lengthen it`},
		},
		{
			name: "a scope of members that nothing tells",
			file: brokers + "scope: {kind: assigned}\n",
			want: []string{`exporter.yml:2: scope.kind = "assigned" needs to be told the members; set scope.host, scope.client_id or both`},
		},
		{
			name: "members, and no scope of them",
			file: brokers + "scope: {host: 10.1.2.3}\n",
			want: []string{`exporter.yml: scope.kind = "all" leaves scope.host and scope.client_id without effect; write assigned, or remove them`},
		},
		{
			name: "ids, and no scope of them",
			file: brokers + "scope: {transactional_ids: 'app-.*'}\n",
			want: []string{`exporter.yml: scope.kind = "all" leaves scope.transactional_ids without effect; write transactional-id, or remove it`},
		},
		{
			name: "ids, and a scope of members",
			file: brokers + "scope: {kind: assigned, host: 10.1.2.3, transactional_ids: 'app-.*'}\n",
			want: []string{`exporter.yml:2: scope.kind = "assigned" leaves scope.transactional_ids without effect; remove it`},
		},
		{
			name: "a scope of ids that nothing tells",
			file: brokers + "scope: {kind: transactional-id}\n",
			want: []string{`exporter.yml:2: scope.kind = "transactional-id" needs to be told the ids; set scope.transactional_ids`},
		},
		{
			name: "members, and a scope of ids",
			file: brokers + "scope: {kind: transactional-id, transactional_ids: 'app-.*', client_id: app}\n",
			want: []string{`exporter.yml:2: scope.kind = "transactional-id" leaves scope.host and scope.client_id without effect; remove them`},
		},
		{
			name: "a scope of ids, and none asked for",
			file: brokers + "scope: {kind: transactional-id, transactional_ids: 'app-.*'}\ncollectors: {transactions: false}\n",
			want: []string{`exporter.yml:3: collectors.transactions = "false" does not go with scope.kind transactional-id, which coordinators tell; write true`},
		},
		{
			name: "a scope by a host name",
			file: brokers + "scope: {kind: assigned, host: pod-1}\n",
			want: []string{`exporter.yml:2: scope.host = "pod-1" is no IP address; write such as 10.1.2.3`},
		},
		{
			name: "a scope of what is not shown",
			file: brokers + "scope: {kind: assigned, host: 10.1.2.3}\ngranularity: topic\n",
			want: []string{`exporter.yml:3: granularity = "topic" does not go with scope.kind assigned, which shows nothing but partitions; write partition`},
		},
		{
			name: "runbooks behind a login",
			file: brokers + "alerts: {runbooks: 'https://reader:hush@wiki.example/@team/'}\n",
			want: []string{`exporter.yml:2: alerts.runbooks = "https://<secret>@team/" has a user before its host, whom everybody who gets an alert would see; write the address alone`},
		},
		{
			name: "runbooks that are no folder",
			file: brokers + "alerts: {runbooks: https://wiki.example}\n",
			want: []string{`exporter.yml:2: alerts.runbooks = "https://wiki.example" does not end with a slash; write such as https://wiki.example/runbooks/`},
		},
		{
			name: "number for text",
			file: brokers + "cluster: 12\n",
			want: []string{`exporter.yml:2: cluster = "12" is read as int by YAML, not as text; put it in quotes`},
		},
		{
			name: "text for true or false",
			file: brokers + "collectors:\n  groups: off please\n",
			want: []string{`exporter.yml:3: collectors.groups = "off please" is neither true nor false; write one of them, without quotes`},
		},
		{
			name: "list for a duration",
			file: brokers + "sweep:\n  interval: [10s]\n",
			want: []string{`exporter.yml:3: sweep.interval = "[10s]" is a list where a duration belongs; write one value`},
		},
		{
			name: "mapping for a duration",
			file: brokers + "sweep:\n  interval:\n    seconds: 10\n",
			want: []string{`exporter.yml:4: sweep.interval = "{seconds: 10}" is a section where a duration belongs; write the value on the key's own line`},
		},
		{
			name: "text for a section",
			file: brokers + "sweep: 10s\n",
			want: []string{`exporter.yml:2: sweep = "10s" is no section; sweep holds keys, each on a line of its own`},
		},
		{
			name: "a file that is a list",
			file: "- kafka\n",
			want: []string{`exporter.yml:1: "[kafka]" is no key with a value; write keys, each on a line of its own, such as cluster: blue`},
		},
		{
			name: "no value",
			file: brokers + "cluster:\n",
			want: []string{`exporter.yml:2: cluster = "" has no value; write one, or remove the key for the default`},
		},
		{
			name: "duration without a unit",
			file: brokers + "sweep:\n  interval: 10\n",
			want: []string{`exporter.yml:3: sweep.interval = "10" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`},
		},
		{
			name: "duration with an unknown unit",
			file: brokers + "sweep:\n  interval: 10 sec\n",
			want: []string{`exporter.yml:3: sweep.interval = "10 sec" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`},
		},
		{
			name: "duration out of bounds",
			file: brokers + "sweep: {interval: 1ms, timeout: 48h}\n",
			want: []string{
				`exporter.yml:2: sweep.interval = "1ms" is too short; write at least 100ms`,
				`exporter.yml:2: sweep.timeout = "48h" is too long; write at most 1h`,
			},
		},
		{
			name: "negative duration",
			file: brokers + "sweep: {timeout: -1s}\n",
			want: []string{`exporter.yml:2: sweep.timeout = "-1s" is too short; write at least 0s`},
		},
		{
			name: "sweep that may take longer than the interval",
			file: brokers + "sweep:\n  interval: 2s\n  timeout: 3s\n",
			want: []string{`exporter.yml:4: sweep.timeout = "3s" is longer than sweep.interval (2s), when the next sweep is due; shorten it or lengthen the interval`},
		},
		{
			name: "request that may take longer than the sweep",
			file: "kafka: {brokers: [a:1], request_timeout: 8s}\n",
			want: []string{`exporter.yml:1: kafka.request_timeout = "8s" is longer than sweep.timeout (7.5s), when nobody waits for an answer; shorten it or lengthen that`},
		},
		{
			name: "bad regular expression",
			file: brokers + "topics:\n  include: \"orders-(\"\n",
			want: []string{"exporter.yml:3: topics.include = \"orders-(\" is not a regular expression (missing closing ): `orders-(`); mend it by the RE2 syntax, https://github.com/google/re2/wiki/Syntax"},
		},
		{
			name: "regular expression that only the anchors would close",
			file: brokers + "groups:\n  exclude: \")(\"\n",
			want: []string{"exporter.yml:3: groups.exclude = \")(\" is not a regular expression (unexpected ): `)(`); mend it by the RE2 syntax, https://github.com/google/re2/wiki/Syntax"},
		},
		{
			name: "empty include",
			file: brokers + "topics: {include: \"\"}\n",
			want: []string{`exporter.yml:2: topics.include = "" is empty and would match nothing; write .* for all, or remove it`},
		},
		{
			name: "empty broker list",
			file: "kafka:\n  brokers: []\n",
			want: []string{`exporter.yml:2: kafka.brokers = "[]" is empty; list at least one host:port`},
		},
		{
			name: "no broker list",
			file: "cluster: a\n",
			want: []string{`exporter.yml: kafka.brokers = "" is empty; list at least one host:port there, in --kafka.brokers or in LSO_EXPORTER_KAFKA_BROKERS`},
		},
		{
			name: "broker without a port",
			file: "kafka:\n  brokers:\n    - kafka-1:9092\n    - kafka-2\n",
			want: []string{`exporter.yml:2: kafka.brokers = "[kafka-1:9092, kafka-2]" has the entry "kafka-2", which is not host:port; write such as kafka-1:9092 or [::1]:9092`},
		},
		{
			name: "broker with a bad port",
			file: "kafka: {brokers: [\"kafka-1:909200\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[kafka-1:909200]" has the entry "kafka-1:909200", which has the port "909200"; write a number from 1 to 65535`},
		},
		{
			name: "broker without a host",
			file: "kafka: {brokers: [\":9092\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[:9092]" has the entry ":9092", which has no host; write such as kafka-1:9092`},
		},
		{
			name: "not one of the options",
			file: brokers + "log: {level: wran}\n",
			want: []string{`exporter.yml:2: log.level = "wran" is not one of trace, debug, info, warn, error; choose one of them; did you mean warn?`},
		},
		{
			name: "telemetry path that is taken",
			file: brokers + "web: {telemetry_path: /healthz}\n",
			want: []string{`exporter.yml:2: web.telemetry_path = "/healthz" is a page of its own; choose another path, such as /metrics`},
		},
		{
			name: "telemetry path of the report",
			file: brokers + "web: {telemetry_path: /api/report}\n",
			want: []string{`exporter.yml:2: web.telemetry_path = "/api/report" is a page of its own; choose another path, such as /metrics`},
		},
		{
			name: "telemetry path without a slash",
			file: brokers + "web: {telemetry_path: metrics}\n",
			want: []string{`exporter.yml:2: web.telemetry_path = "metrics" does not start with a slash; write such as /metrics`},
		},
		{
			name: "web configuration file that is missing",
			file: brokers + "web: {config_file: missing.yml}\n",
			want: []string{`exporter.yml:2: web.config_file = "missing.yml" is no good web configuration file (open missing.yml: no such file or directory); mend that file, or name another`},
		},
		{
			name: "reference to a variable that is not set",
			file: brokers + "cluster: ${CLUSTER}\n",
			want: []string{`exporter.yml:2: cluster = "${CLUSTER}" refers to the environment variable CLUSTER, which is not set; set it, or write the value`},
		},
		{
			name: "reference that is none",
			file: brokers + "cluster: ${CLUSTER\n",
			want: []string{`exporter.yml:2: cluster = "${CLUSTER" has ${CLUSTER, which is no reference; write ${NAME} for an environment variable, or $${ for the characters themselves`},
		},
		{
			name: "what a reference stands for is not shown",
			file: brokers + "sweep: {interval: \"${SECRET}\"}\n",
			env:  []string{"SECRET=hunter2"},
			want: []string{`exporter.yml:2: sweep.interval = "${SECRET}" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`},
		},
		{
			name: "not YAML",
			file: brokers + "cluster: a\n  level: b\n",
			want: []string{`exporter.yml:3: "level: b" is not YAML (mapping values are not allowed in this context); mend indentation and quotes here or in the line before`},
		},
		{
			name: "tab",
			file: "kafka:\n\tbrokers: [a:1]\n",
			want: []string{`exporter.yml:2: "brokers: [a:1]" is indented with a tab; use spaces`},
		},
		{
			name: "the entry of a list, from a reference",
			file: "kafka: {brokers: [\"${SECRET}\"]}\n",
			env:  []string{"SECRET=hunter2"},
			want: []string{`exporter.yml:1: kafka.brokers = "[${SECRET}]" has the entry …, which is not host:port; write such as kafka-1:9092 or [::1]:9092`},
		},
		{
			name: "an expression of two lines",
			file: brokers + "topics: {include: \"(\\n\"}\n",
			want: []string{`exporter.yml:2: topics.include = "(\n" is not a regular expression (missing closing ): ` + "`(\\n`" + `); mend it by the RE2 syntax, https://github.com/google/re2/wiki/Syntax`},
		},
		{
			name: "alias of itself",
			file: "a: &a [*a]\n",
			want: []string{`exporter.yml:1: "*a" is an alias; write in its place what it stands for`},
		},
		{
			name: "alias",
			file: brokers + "cluster: &a x\nlog: {level: *a}\n",
			want: []string{`exporter.yml:3: "*a" is an alias; write in its place what it stands for`},
		},
		{
			name: "larger than any configuration",
			file: strings.Repeat("#\n", 1<<19) + "#",
			want: []string{`exporter.yml: cannot be read (it is larger than 1048576 bytes); name the file that is meant`},
		},
		{
			name: "second document",
			file: brokers + "---\ncluster: a\n",
			want: []string{`exporter.yml:3: "{cluster: a}" is in a second document; keep one, without a line of three dashes after it`},
		},
		// What is no YAML, or more than keys and values.
		{
			name: "a file that is one value",
			file: "kafka-1:9092\n",
			want: []string{`exporter.yml:1: "kafka-1:9092" is no key with a value; write keys, each on a line of its own, such as cluster: blue`},
		},
		{
			name: "a NUL byte",
			file: brokers + "cluster: a\x00b\n",
			want: []string{`exporter.yml:2: has a NUL byte; save the file as UTF-8 text`},
		},
		{
			name: "not UTF-8",
			file: brokers + "\n# caf\xe9\n",
			want: []string{`exporter.yml:3: has the byte 0xe9, which is not UTF-8; save the file as UTF-8`},
		},
		{
			name: "half a rune at the end",
			file: brokers + "cluster: caf\xc3",
			want: []string{`exporter.yml:2: has the byte 0xc3, which is not UTF-8; save the file as UTF-8`},
		},
		{
			name: "UTF-16, little endian",
			file: "\xff\xfek\x00a\x00",
			want: []string{`exporter.yml:1: is UTF-16; save the file as UTF-8`},
		},
		{
			name: "UTF-16, big endian",
			file: "\xfe\xff\x00k\x00a",
			want: []string{`exporter.yml:1: is UTF-16; save the file as UTF-8`},
		},
		{
			name: "UTF-16 without a mark",
			file: "k\x00a\x00",
			want: []string{`exporter.yml:1: has a NUL byte; save the file as UTF-8 text`},
		},
		{
			name: "a control character",
			file: brokers + "cluster: a\x1b[31mb\n",
			want: []string{`exporter.yml:2: has the control character U+001B; remove it, or write it as an escape in double quotes`},
		},
		{
			name: "a program",
			file: "\x7fELF\x02\x01",
			want: []string{`exporter.yml:1: has the control character U+007F; remove it, or write it as an escape in double quotes`},
		},
		{
			name: "a tab in a deeper line",
			file: brokers + "sweep:\n  interval: 10s\n\ttimeout: 5s\n",
			want: []string{`exporter.yml:4: "timeout: 5s" is indented with a tab; use spaces`},
		},
		{
			name: "a quote that is not closed",
			file: brokers + "cluster: \"blue\nlog:\n  level: warn\n",
			want: []string{`exporter.yml:2: "cluster: \"blue" is not YAML (found unexpected end of stream); mend indentation and quotes here or in the line before`},
		},
		{
			name: "a bracket that is not closed",
			file: "kafka:\n  brokers: [a:1\ncluster: blue\n",
			want: []string{`exporter.yml:2: "brokers: [a:1" is not YAML (did not find expected ',' or ']'); mend indentation and quotes here or in the line before`},
		},
		{
			name: "an indentation that nothing has, far below where the section begins",
			file: brokers + "sweep:\n  interval: 10s\n\n\n # a comment\n timeout: 5s\n",
			want: []string{`exporter.yml:7: "timeout: 5s" is not YAML (did not find expected key); mend indentation and quotes here or in the line before`},
		},
		{
			name: "a key without a colon",
			file: brokers + "cluster\nlog: {level: warn}\n",
			want: []string{`exporter.yml:2: "cluster" is not YAML (could not find expected ':'); mend indentation and quotes here or in the line before`},
		},
		{
			name: "no space after the colon",
			file: brokers + "cluster:blue\n",
			want: []string{`exporter.yml:2: "cluster:blue" is not YAML (could not find expected ':'); mend indentation and quotes here or in the line before`},
		},
		{
			name: "a template that nobody filled in",
			file: brokers + "cluster: {{ .Values.cluster }}\n",
			want: []string{`exporter.yml:2: "{.Values.cluster: }" is no key; write a name, and put a value that begins with a brace or bracket in quotes`},
		},
		{
			name: "a list as a key",
			file: brokers + "? [a, b]\n: c\n",
			want: []string{`exporter.yml:2: "[a, b]" is no key; write a name, and put a value that begins with a brace or bracket in quotes`},
		},
		{
			name: "an empty key",
			file: brokers + "\"\": blue\n",
			want: []string{`exporter.yml:2: "blue" has no key; write one before the colon`},
		},
		{
			name: "an empty key in a section",
			file: brokers + "sweep:\n  '': 10s\n",
			want: []string{`exporter.yml:3: sweep. = "10s" has no key; write one before the colon`},
		},
		{
			name: "keys with a dot",
			file: "kafka.brokers: [a:1]\nkafka.colour: red\n",
			want: []string{
				`exporter.yml:1: kafka.brokers = "[a:1]" has a dot in its key; write brokers: under a line kafka:`,
				`exporter.yml:2: kafka.colour = "red" is an unknown key; remove it`,
			},
		},
		{
			name: "a key in capitals",
			file: brokers + "Cluster: blue\n",
			want: []string{`exporter.yml:2: Cluster = "blue" is an unknown key; remove it; did you mean cluster?`},
		},
		{
			name: "a flag's name as a key",
			file: brokers + "collector: {groups: false}\nsweep: {look-up-after: 1m}\n",
			want: []string{
				`exporter.yml:2: collector = "{groups: false}" is an unknown key; remove it; did you mean collectors?`,
				`exporter.yml:3: sweep.look-up-after = "1m" is an unknown key; remove it; did you mean transactions.look_up_after?`,
			},
		},
		{
			name: "a key of several lines",
			file: brokers + "\"a\\nb\\e[31m\": c\n",
			want: []string{`exporter.yml:2: a\nb\x1b[31m = "c" is an unknown key; remove it`},
		},
		{
			name: "a key that fills the screen",
			file: brokers + "? " + strings.Repeat("x", 100000) + "\n: c\n",
			want: []string{`exporter.yml:2: ` + strings.Repeat("x", 80) + `… = "c" is an unknown key; remove it`},
		},
		{
			name: "an alias of nothing",
			file: brokers + "topics:\n  include: *all\n",
			want: []string{`exporter.yml:3: "*all" is an alias; write in its place what it stands for, or put it in quotes`},
		},
		{
			name: "a glob",
			file: brokers + "topics:\n  include: *\n",
			want: []string{`exporter.yml:3: "include: *" is not YAML (did not find expected alphabetic or numeric character); mend indentation and quotes here or in the line before`},
		},
		{
			name: "an alias as a key",
			file: "cluster: &a log\n*a : {level: warn}\n",
			want: []string{`exporter.yml:2: "*a" is an alias; write in its place what it stands for`},
		},
		{
			name: "a bomb of aliases",
			file: "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
			want: []string{
				`exporter.yml:2: "*a" is an alias; write in its place what it stands for`,
				`exporter.yml:2: "*a" is an alias; write in its place what it stands for`,
				`exporter.yml:3: "*b" is an alias; write in its place what it stands for`,
				`exporter.yml:3: "*b" is an alias; write in its place what it stands for`,
			},
		},
		{
			name: "a merge key",
			file: brokers + "log:\n  <<: {level: warn}\n",
			want: []string{`exporter.yml:3: "<<" is a merge key; write out the keys that it stands for`},
		},
		{
			name: "a tag",
			file: brokers + "cluster: !env CLUSTER\nlog: !!omap {level: warn}\n",
			want: []string{
				`exporter.yml:2: "!env" is a tag, which has no meaning here; remove it`,
				`exporter.yml:3: "!!omap" is a tag, which has no meaning here; remove it`,
			},
		},
		{
			name: "binary",
			file: brokers + "cluster: !!binary aGk=\n",
			want: []string{`exporter.yml:2: "!!binary" is a tag, which has no meaning here; remove it`},
		},
		{
			name: "a section twice",
			file: brokers + "log: {level: warn}\nlog: {format: json}\n",
			want: []string{`exporter.yml:3: log = "{format: json}" stands in line 2 already; remove one of the two`},
		},
		{
			name: "a key twice, once in quotes",
			file: brokers + "cluster: a\n'cluster': a\n",
			want: []string{`exporter.yml:3: cluster = "a" stands in line 2 already; remove one of the two`},
		},
		{
			name: "a third document",
			file: "---\n" + brokers + "---\n---\ncluster: a\n",
			want: []string{`exporter.yml:4: is in a second document; keep one, without a line of three dashes after it`},
		},
		{
			name: "a version of YAML that there is not",
			file: "%YAML 9.9\n---\n" + brokers,
			want: []string{`exporter.yml:1: "%YAML 9.9" is not YAML (found incompatible YAML document); mend indentation and quotes here or in the line before`},
		},
		// Values of the wrong type.
		{
			name: "a date, a fraction and nothing for text",
			file: brokers + "cluster: 2026-12-01\ngranularity: 1.5\nlog: {level: ~, format: .inf}\n",
			want: []string{
				`exporter.yml:2: cluster = "2026-12-01" is read as timestamp by YAML, not as text; put it in quotes`,
				`exporter.yml:3: granularity = "1.5" is read as float by YAML, not as text; put it in quotes`,
				`exporter.yml:4: log.level = "~" has no value; write one, or remove the key for the default`,
				`exporter.yml:4: log.format = ".inf" is read as float by YAML, not as text; put it in quotes`,
			},
		},
		{
			name: "other words for true",
			file: brokers + "collectors:\n  groups: yes\n  audit: True\n  offsets: 1\n  replicas: \"true\"\n",
			want: []string{
				`exporter.yml:3: collectors.groups = "yes" is neither true nor false; write one of them, without quotes`,
				`exporter.yml:4: collectors.audit = "True" is neither true nor false; write one of them`,
				`exporter.yml:5: collectors.offsets = "1" is neither true nor false; write one of them, without quotes`,
				`exporter.yml:6: collectors.replicas = "true" is neither true nor false; write one of them, without quotes`,
			},
		},
		{
			name: "entries of the wrong type",
			file: "kafka:\n  brokers:\n    - kafka-1: 9092\n",
			want: []string{`exporter.yml:3: kafka.brokers = "[{kafka-1: 9092}]" has an entry that is a section; put the entry in quotes`},
		},
		{
			name: "a number as an entry",
			file: "kafka: {brokers: [9092]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[9092]" has the entry 9092, which is read as int by YAML, not as text; put it in quotes`},
		},
		{
			name: "a list as an entry",
			file: "kafka: {brokers: [[a:1]]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[[a:1]]" has an entry that is a list; write one list of all entries`},
		},
		{
			name: "nothing as an entry",
			file: "kafka:\n  brokers:\n    -\n    - a:1\n",
			want: []string{`exporter.yml:3: kafka.brokers = "[, a:1]" has an empty entry; remove it`},
		},
		{
			name: "a section for a list",
			file: "kafka:\n  brokers: {kafka-1:9092}\n",
			want: []string{`exporter.yml:2: kafka.brokers = "{kafka-1:9092: }" is a section where a list of addresses belongs; write the value on the key's own line`},
		},
		// Values out of bounds.
		{
			name: "durations that look like ones",
			file: brokers + "sweep: {interval: 1d, timeout: 10 s}\naudit: {interval: 99999999999999h}\n",
			want: []string{
				`exporter.yml:2: sweep.interval = "1d" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`,
				`exporter.yml:2: sweep.timeout = "10 s" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`,
				`exporter.yml:3: audit.interval = "99999999999999h" is too long; write at most 24h`,
			},
		},
		{
			name: "broker with port 0",
			file: "kafka: {brokers: [\"kafka-1:0\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[kafka-1:0]" has the entry "kafka-1:0", which has the port 0, on which nobody listens; write a number from 1 to 65535`},
		},
		{
			name: "broker with a protocol",
			file: "kafka: {brokers: [\"PLAINTEXT://kafka-1:9092\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[PLAINTEXT://kafka-1:9092]" has the entry "PLAINTEXT://kafka-1:9092", which begins with PLAINTEXT://; write host:port alone, such as kafka-1:9092 or [::1]:9092`},
		},
		{
			name: "broker whose host is no name",
			file: "kafka: {brokers: [\"kafka 1:9092\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[kafka 1:9092]" has the entry "kafka 1:9092", which has the host "kafka 1"; write a name or an IP address`},
		},
		{
			name: "broker with an address that there is not",
			file: "kafka: {brokers: [\"256.1.1.1:9092\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[256.1.1.1:9092]" has the entry "256.1.1.1:9092", which has the host "256.1.1.1"; write a name or an IP address`},
		},
		{
			name: "IPv6 without brackets",
			file: "kafka: {brokers: [\"::1:9092\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[::1:9092]" has the entry "::1:9092", which is not host:port; write such as kafka-1:9092 or [::1]:9092`},
		},
		{
			name: "broker twice",
			file: "kafka: {brokers: [\"a:1\", \"b:1\", \"a:1\"]}\n",
			want: []string{`exporter.yml:1: kafka.brokers = "[a:1, b:1, a:1]" has the entry "a:1" twice; remove one`},
		},
		{
			name: "broker twice, in another spelling",
			args: []string{"--kafka.brokers=kafka-1:1", "--kafka.brokers=Kafka-1:1"},
			want: []string{`command line: --kafka.brokers = "kafka-1:1,Kafka-1:1" has the entries "kafka-1:1" and "Kafka-1:1", which are the same; remove one`},
		},
		{
			name: "listen address twice",
			file: brokers + "web: {listen_address: [\":10308\", \":10308\"]}\n",
			want: []string{`exporter.yml:2: web.listen_address = "[:10308, :10308]" has the entry ":10308" twice; remove one`},
		},
		{
			name: "listen address within another",
			file: brokers + "web: {listen_address: [\"127.0.0.1:10308\", \"0.0.0.0:10308\"]}\n",
			want: []string{`exporter.yml:2: web.listen_address = "[127.0.0.1:10308, 0.0.0.0:10308]" has the entries "127.0.0.1:10308" and "0.0.0.0:10308", which are the same; remove one`},
		},
		{
			name: "listen address without a colon",
			file: brokers + "web: {listen_address: \"10308\"}\n",
			want: []string{`exporter.yml:2: web.listen_address = "10308" has the entry "10308", which is not host:port; write such as :10308 or 127.0.0.1:10308`},
		},
		{
			name: "telemetry paths that cannot be served",
			file: brokers + "web:\n  telemetry_path: /a//b\n",
			want: []string{`exporter.yml:3: web.telemetry_path = "/a//b" is not a plain path; write such as /metrics`},
		},
		{
			name: "telemetry path with an escape",
			args: []string{"--kafka.brokers=a:1", "--web.telemetry-path=/a%zz"},
			want: []string{`command line: --web.telemetry-path = "/a%zz" is not a plain path; write such as /metrics`},
		},
		{
			name: "telemetry path that leads elsewhere",
			args: []string{"--kafka.brokers=a:1", "--web.telemetry-path=/a/../b"},
			want: []string{`command line: --web.telemetry-path = "/a/../b" is not a plain path; write such as /metrics`},
		},
		{
			name: "texts that do not fit in a line",
			file: brokers + "cluster: |\n  a\n  b\n",
			want: []string{`exporter.yml:2: cluster = "a\nb\n" has a line break or another control character; remove it`},
		},
		{
			name: "texts that are too long",
			file: "kafka: {brokers: [a:1], client_id: " + strings.Repeat("ü", 1025) + "}\n",
			want: []string{`exporter.yml:1: kafka.client_id = "` + strings.Repeat("ü", 80) + `…" has more than 1024 characters; shorten it`},
		},
		{
			name: "a client id of spaces",
			file: "kafka: {brokers: [a:1], client_id: \"  \"}\n",
			want: []string{`exporter.yml:1: kafka.client_id = "  " is empty; write a text, or remove it for the default`},
		},
		{
			name: "environment: not UTF-8",
			file: brokers,
			env:  []string{"LSO_EXPORTER_CLUSTER=caf\xe9"},
			want: []string{`environment: LSO_EXPORTER_CLUSTER = "caf\xe9" is not UTF-8 text; write it in UTF-8`},
		},
		{
			name: "environment: a word that is near to nothing",
			file: brokers,
			env:  []string{"LSO_EXPORTER_X=1", "LSO_EXPORTER_CONFIG=a.yml"},
			want: []string{
				`environment: LSO_EXPORTER_CONFIG = "a.yml" is an unknown variable; remove it`,
				`environment: LSO_EXPORTER_X = "1" is an unknown variable; remove it`,
			},
		},
		{
			name: "environment: bad value",
			file: brokers,
			env:  []string{"LSO_EXPORTER_SWEEP_INTERVAL=soon"},
			want: []string{`environment: LSO_EXPORTER_SWEEP_INTERVAL = "soon" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`},
		},
		{
			name: "environment: unknown variable",
			file: brokers,
			env:  []string{"LSO_EXPORTER_LOGLEVEL=debug", "LSO_EXPORTER_PORT_10308_TCP=tcp://10.0.0.1:10308", "LSO_EXPORTER_BLUE_SERVICE_HOST=10.0.0.1"},
			want: []string{`environment: LSO_EXPORTER_LOGLEVEL = "debug" is an unknown variable; remove it; did you mean LSO_EXPORTER_LOG_LEVEL?`},
		},
		{
			name: "environment: nothing between two commas",
			env:  []string{"LSO_EXPORTER_KAFKA_BROKERS=a:1,,b:2"},
			want: []string{`environment: LSO_EXPORTER_KAFKA_BROKERS = "a:1,,b:2" has an empty entry; remove it, with its comma`},
		},
		{
			name: "environment: empty broker list",
			env:  []string{"LSO_EXPORTER_KAFKA_BROKERS="},
			want: []string{`environment: LSO_EXPORTER_KAFKA_BROKERS = "" is empty; list at least one host:port`},
		},
		{
			name: "flag: bad value",
			file: brokers,
			args: []string{"--log.level=loud"},
			want: []string{`command line: --log.level = "loud" is not one of trace, debug, info, warn, error; choose one of them`},
		},
		{
			name: "nothing at all",
			want: []string{`configuration: kafka.brokers = "" is empty; list at least one host:port there, in --kafka.brokers or in LSO_EXPORTER_KAFKA_BROKERS`},
		},
		{
			name: "a value with line breaks stays on one line and is cut",
			file: brokers + "granularity: \"" + strings.Repeat(`x\n`, 50) + "\"\n",
			want: []string{`exporter.yml:2: granularity = "` + strings.Repeat(`x\n`, 40) + `…" is not one of partition, topic, group; choose one of them`},
		},
		{
			name: "several, by line",
			file: "cluster: 1\nlog: {level: loud}\nsweep: {period: 1s}\n" + brokers,
			want: []string{
				`exporter.yml:1: cluster = "1" is read as int by YAML, not as text; put it in quotes`,
				`exporter.yml:2: log.level = "loud" is not one of trace, debug, info, warn, error; choose one of them`,
				`exporter.yml:3: sweep.period = "1s" is an unknown key; remove it`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sources := Sources{Environment: test.env, Flags: parsed(t, test.args...)}
			if test.file != "" {
				sources.File = inFile(t, test.file)
			}
			_, err := loadAndValidate(sources)
			if err == nil {
				t.Fatal("no problem found")
			}
			if want := strings.Join(test.want, "\n"); err.Error() != want {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
		})
	}
}

func TestUnreadableFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{
		"missing.yml": "missing.yml: cannot be read (no such file or directory); create it, or name one that is there",
		".":           ".: cannot be read (is a directory); name a file in it",
	} {
		_, err := Load(Sources{File: name})
		var problems Problems
		if !errors.As(err, &problems) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What sets nothing is no mistake, but an editor's mark or a habit.
func TestFilesThatSetNothing(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "blank": "\n\n", "comments": "# a\n# b\n", "dashes": "---\n", "null": "~\n",
		"a section without keys": "sweep:\n  # interval: 10s\n", "a mark of UTF-8": "\ufeff# a\n", "an end": "---\n...\n",
	} {
		t.Run(name, func(t *testing.T) {
			loaded, err := Load(Sources{File: inFile(t, content)})
			if err != nil {
				t.Fatal(err)
			}
			if want := defaults(); !reflect.DeepEqual(loaded.config, want) {
				t.Errorf("got %+v\nwant %+v", loaded.config, want)
			}
			if _, err := loaded.Validated(); err == nil || !strings.HasPrefix(err.Error(), "exporter.yml: kafka.brokers = ") {
				t.Errorf("the problem %v does not name the file", err)
			}
		})
	}
	loaded, err := Load(Sources{File: inFile(t, "\ufeffcluster: blue\r\nlog:\r\n  level: warn\r\n")})
	if err != nil || loaded.config.Cluster != "blue" || loaded.config.Log.Level != "warn" {
		t.Errorf("a file of Windows gives %+v, %v", loaded, err)
	}
}

// Who waits for a pipe into which nobody writes can be told to stop.
func TestPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Skip("no pipes on this system: ", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	const want = "pipe: cannot be read (context canceled); the exporter was told to stop before it came"
	if _, err := LoadContext(ctx, Sources{File: "pipe"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := syscall.Mkfifo("filled", 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if f, err := os.OpenFile("filled", os.O_WRONLY, 0); err == nil {
			f.WriteString("cluster: blue\n")
			f.Close()
		}
	}()
	loaded, err := Load(Sources{File: "filled"})
	if err != nil || loaded.config.Cluster != "blue" {
		t.Errorf("from a pipe: %+v, %v", loaded, err)
	}
}

// Whatever a file holds, each mistake is one line that can be read on a
// terminal, and nothing panics.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		brokers, "a: &a [*a]\n", "? [a]\n: b\n", "\xff\xfea", "\ta: b", "a: \"b\nc: d", "- a\n--- b\n...\n%YAML 1.1\n", "<<: {a: b}\n",
		"kafka:\n  brokers: [a:1, [b], {c: d}, ~, 1]\n  request_timeout: 1e9h\n", "{{ .Values.a }}", "topics: {include: !!binary aa}", "\u2028: \u0085\n",
		"alerts: {group_lag: [\"( 1 1\", \".* x -\"]}\n", "cluster: ${A}${B}$${C}${\n", "web: {telemetry_path: \"/\\u2028\", listen_address: [\":1\", \"[::]:1\"]}\n",
	} {
		f.Add([]byte(seed))
	}
	name := filepath.Join(f.TempDir(), "exporter.yml")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(Sources{File: name, Environment: []string{"A=x"}})
		if err == nil {
			_, err = loaded.Validated()
		}
		var problems Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("%v is no problem of the configuration", err)
		}
		for _, p := range problems {
			line := p.Error()
			if p.Fault == "" || !strings.HasPrefix(line, name) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("the line %q", line)
			}
		}
	})
}

func TestReferences(t *testing.T) {
	file := inFile(t, "kafka:\n  brokers: ${BROKERS}\ncluster: pre-${NAME}-$${NAME}\ntopics:\n  include: ^orders$\ncollectors:\n  groups: ${GROUPS}\n")
	loaded, err := Load(Sources{File: file, Environment: []string{"BROKERS=a:1,b:2", "NAME=x: y # z", "GROUPS=false"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := loaded.Validated()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a:1", "b:2"}; !reflect.DeepEqual(got.Kafka.Brokers, want) {
		t.Errorf("brokers %q, want %q", got.Kafka.Brokers, want)
	}
	if want := "pre-x: y # z-${NAME}"; got.Cluster != want {
		t.Errorf("cluster %q, want %q: a value is text, whatever YAML would make of it", got.Cluster, want)
	}
	if got.Collectors.Groups || !got.Topics.Match("orders") {
		t.Errorf("collectors.groups %v, topics.include %v", got.Collectors.Groups, got.Topics.Include)
	}
	var printed strings.Builder
	if err := loaded.Print(&printed); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`cluster: "pre-${NAME}-$${NAME}"`, `brokers: ["${BROKERS}"]`, `groups: "${GROUPS}"`} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("printed configuration lacks %s", want)
		}
	}
	if strings.Contains(printed.String(), "x: y") {
		t.Error("printed configuration shows what a reference stands for")
	}
}

// What "config print" prints can be loaded, and means the same.
func TestPrintedConfigurationLoads(t *testing.T) {
	tests := map[string]string{
		"defaults":   "",
		"odd values": brokers + "cluster: \"a \\\"b\\\" \\\\ # ${X} $${Y} ü\"\ntopics: {include: \"a\\\\.b$|\\n\", exclude: \"x{1,2}\"}\nsweep: {interval: 1m30s, timeout: 2h0m0s}\n",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			content = strings.Replace(content, "2h0m0s", "1m", 1)
			environment := []string{"X=value"}
			first, err := Load(Sources{File: inFile(t, content), Environment: environment})
			if err != nil {
				t.Fatal(err)
			}
			var printed strings.Builder
			if err := first.Print(&printed); err != nil {
				t.Fatal(err)
			}
			text := printed.String()
			second, err := Load(Sources{File: inFile(t, text), Environment: environment})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if !reflect.DeepEqual(first.config, second.config) {
				t.Errorf("got %+v\nwant %+v", second.config, first.config)
			}
		})
	}
}

func TestPrintedDefaults(t *testing.T) {
	loaded, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	if err := loaded.Print(&printed); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "defaults.yml"), printed.String())
}

// What is left at 0s is worked out from the interval, and never contradicts it.
func TestDerivedTimeouts(t *testing.T) {
	tests := []struct {
		name, sweep            string
		wantSweep, wantRequest time.Duration
	}{
		{"short interval", "interval: 100ms", 75 * time.Millisecond, 18750 * time.Microsecond},
		{"half a second", "interval: 500ms", 375 * time.Millisecond, 93750 * time.Microsecond},
		{"default interval", "interval: 10s", 7500 * time.Millisecond, time.Second},
		{"long interval", "interval: 1m", 45 * time.Second, 2 * time.Second},
		{"long interval, short timeout", "interval: 1m, timeout: 1s", time.Second, 250 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := loadAndValidate(Sources{File: inFile(t, brokers+"sweep: {"+test.sweep+"}\n")})
			if err != nil {
				t.Fatal(err)
			}
			if c.Sweep.Timeout != test.wantSweep || c.Kafka.RequestTimeout != test.wantRequest {
				t.Errorf("sweep %v, request %v; want %v and %v", c.Sweep.Timeout, c.Kafka.RequestTimeout, test.wantSweep, test.wantRequest)
			}
		})
	}
}

// A command that reaches no cluster needs no brokers, and is checked all the
// same.
func TestValidatedOffline(t *testing.T) {
	loaded, err := Load(Sources{File: inFile(t, "alerts: {group_lag: []}\n")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loaded.ValidatedOffline()
	if err != nil || len(c.Alerts.GroupLag) != 0 || c.Alerts.ExporterStale != 150*time.Second {
		t.Errorf("%+v, %v", c.Alerts, err)
	}
	if _, err := loaded.Validated(); err == nil {
		t.Error("a cluster without brokers is accepted")
	}
	if loaded, err = Load(Sources{File: inFile(t, "sweep: {interval: 1s, timeout: 2s}\n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := loaded.ValidatedOffline(); err == nil {
		t.Error("settings that contradict each other are accepted")
	}
}

// A command that reaches no cluster needs no secrets, and all that is not secret.
func TestOfflineWithoutSecrets(t *testing.T) {
	const login = "kafka: {sasl: {mechanism: PLAIN, username: alice, password: '${PW}'}}\n"
	for _, test := range []struct {
		content string
		offline bool
		want    string // empty for no problem
	}{
		{login, true, ""},
		{login, false, "PW, which is not set"},
		{login + "cluster: ${PW}\n", true, `cluster = "${PW}" refers to the environment variable PW, which is not set`},
		{"kafka: {sasl: {password: 'a${PW}'}}\n", true, "has a ${ that is no reference"},
	} {
		loaded, err := Load(Sources{File: inFile(t, test.content), Offline: test.offline})
		if err == nil {
			_, err = loaded.ValidatedOffline()
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q, offline %t: %v, want %q", test.content, test.offline, err, test.want)
		}
	}
}

func TestFilter(t *testing.T) {
	f := Filter{Include: regexp.MustCompile("^(?s:a.*)$"), Exclude: regexp.MustCompile("^(?s:ab)$")}
	for name, want := range map[string]bool{"a": true, "ab": false, "abc": true, "b": false} {
		if got := f.Match(name); got != want {
			t.Errorf("Match(%q) = %v, want %v", name, got, want)
		}
	}
	c := defaults()
	if !c.Groups.All() || f.All() || (Filter{Include: c.Groups.Include, Exclude: f.Exclude}).All() {
		t.Error("All is wrong about which filter picks all")
	}
	if !c.Groups.Match("a\nb\xff") {
		t.Error("a name with a line break and invalid UTF-8 is not picked by default")
	}
	if f = (Filter{Include: f.Include}); !f.Match("ab") {
		t.Error("a filter that excludes nothing does not pick ab")
	}
}

func TestFingerprint(t *testing.T) {
	seen := make(map[string]string)
	for _, content := range []string{brokers, "kafka: {brokers: [kafka-1:9093]}\n", brokers + "cluster: a\n", brokers + "log: {level: warn}\n"} {
		c, err := loadAndValidate(Sources{File: inFile(t, content)})
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[c.Fingerprint()]; twice {
			t.Errorf("%q and %q have one fingerprint", content, other)
		}
		seen[c.Fingerprint()] = content
		if again, err := loadAndValidate(Sources{File: inFile(t, content)}); err != nil || again.Fingerprint() != c.Fingerprint() {
			t.Errorf("%q has two fingerprints", content)
		}
	}
}
