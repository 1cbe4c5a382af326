package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
)

// clusterFlags are the flags of the commands that run a simulated cluster.
type clusterFlags struct {
	brokers    int
	listen     string
	scenario   string
	file       string
	properties []string
	features   []string
	vendor     string
}

// maxBrokers is how many brokers one process may be asked for: as many as
// scenarios have letters for.
const maxBrokers = 26

func addClusterFlags(command *kingpin.CmdClause) *clusterFlags {
	f := &clusterFlags{brokers: 3, listen: "127.0.0.1:0"}
	numberFlag(command, "brokers", "Number of brokers, 1 to 26. Default: 3.", &f.brokers, 1, maxBrokers)
	addressFlag(command, "kafka.listen-address", "Address of the first broker; the others listen on the ports after it. Port 0 lets the system choose. Default: "+f.listen+".", &f.listen)
	command.Flag("scenario", "Scenario to play, a text in the language of docs/scenarios.md.").PlaceHolder("FILE").StringVar(&f.scenario)
	addPropertyFlags(command, f)
	return f
}

func addPropertyFlags(command *kingpin.CmdClause, f *clusterFlags) {
	command.Flag("server.properties", "Broker properties in Kafka's own file format.").PlaceHolder("FILE").StringVar(&f.file)
	command.Flag("property", "A broker property by Kafka's name, over those of the file. May be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&f.properties)
}

// addOfferFlags adds what decides which versions and features clients find. The demo
// has none of it: its story needs what some of these lack.
func addOfferFlags(command *kingpin.CmdClause, f *clusterFlags) {
	command.Flag("feature", "A feature and the level at which it is finalised, 0 for none, such as transaction.version=1. May be repeated.").PlaceHolder("NAME=LEVEL").StringsVar(&f.features)
	choiceFlag(command, "vendor", "Whose brokers they are, by the versions of the protocol that they offer: "+strings.Join(simbroker.Vendors(), ", ")+". Default: those of Kafka 4.3.", &f.vendor, simbroker.Vendors()...)
}

// ownFeatures are those of the flags.
func (f *clusterFlags) ownFeatures() (map[string]int16, error) {
	levels := map[string]int16{}
	for _, text := range f.features {
		feature, err := scenario.ParseFeature(text)
		if err == nil {
			levels[feature.Name] = feature.Level
			err = (simbroker.Config{Features: map[string]int16{feature.Name: feature.Level}}).Check()
		}
		if err != nil {
			return nil, config.OnCommandLine("--feature", text, "cannot be: "+err.Error())
		}
	}
	return levels, nil
}

// clusterSettings are what the flags say.
type clusterSettings struct {
	cluster  simbroker.Config
	scenario *scenario.Scenario // nil if none was given
}

// settings reads and checks what the flags name. Properties are laid over
// defaults in this order: the scenario's, the file's, the flags'.
func (f *clusterFlags) settings(defaults map[string]string) (clusterSettings, error) {
	s := clusterSettings{}
	properties := maps.Clone(defaults)
	if properties == nil {
		properties = map[string]string{}
	}
	cluster := simbroker.Config{Features: map[string]int16{}}
	if f.scenario != "" {
		text, err := os.ReadFile(f.scenario)
		if err != nil {
			return s, &mistake{config.OnCommandLine("--scenario", f.scenario, config.Unreadable(err))}
		}
		name := strings.TrimSuffix(filepath.Base(f.scenario), filepath.Ext(f.scenario))
		if s.scenario, err = scenario.Parse(name, string(text)); err != nil {
			return s, &mistake{inFile(f.scenario, err)}
		}
		s.scenario.File = f.scenario
		if cluster, err = simulated.Config(s.scenario); err != nil {
			return s, &mistake{inFile(f.scenario, err)}
		}
		f.brokers = max(f.brokers, s.scenario.Brokers)
		maps.Copy(properties, cluster.Properties)
	}
	if _, port, _ := net.SplitHostPort(f.listen); port != "0" {
		if n, _ := strconv.Atoi(port); n+f.brokers-1 > 65535 {
			return s, &mistake{config.OnCommandLine("--kafka.listen-address", f.listen,
				fmt.Sprintf("leaves too few ports for %d brokers; write a lower one", f.brokers))}
		}
	}
	own, err := f.ownProperties()
	if err != nil {
		return s, &mistake{err}
	}
	maps.Copy(properties, own)
	features, err := f.ownFeatures()
	if err != nil {
		return s, &mistake{err}
	}
	maps.Copy(cluster.Features, features)
	cluster.Brokers, cluster.Properties, cluster.ListenAddress = f.brokers, properties, f.listen
	cluster.Vendor = cmp.Or(f.vendor, cluster.Vendor)
	s.cluster = cluster
	return s, nil
}

// ownProperties are those of the file and of the flags.
func (f *clusterFlags) ownProperties() (property.Values, error) {
	var settings []property.Setting
	if f.file != "" {
		var err error
		var missing *fs.PathError
		settings, err = property.ReadFile(f.file)
		switch {
		case errors.As(err, &missing):
			return nil, config.OnCommandLine("--server.properties", f.file, config.Unreadable(err))
		case err != nil:
			return nil, err
		}
	}
	for _, text := range f.properties {
		setting, err := property.ParseAssignment(text)
		if err != nil {
			return nil, config.OnCommandLine("--property", text, "is no property ("+err.Error()+"); write NAME=VALUE")
		}
		settings = append(settings, setting)
	}
	return property.Collect(settings...)
}

// play plays a scenario on a running cluster and prints its text with the
// outputs that came, step by step. That an output is not the expected one is an
// error, once all is played.
func (p *program) play(ctx context.Context, s *scenario.Scenario, cluster *simbroker.Cluster, features map[string]int16) error {
	stage, release, err := overTCP(ctx, cluster)
	if err != nil {
		return err
	}
	defer release()
	_, err = p.playOn(ctx, s, stage, scenario.Options{Given: propertiesOf(s), Features: features})
	return err
}

// propertiesOf are the properties of a text. A simulated cluster for it was started
// with them, or with what the flags put in their place.
func propertiesOf(s *scenario.Scenario) map[string]string {
	properties := map[string]string{}
	for _, p := range s.Properties {
		properties[p.Name] = p.Value
	}
	return properties
}

// overTCP is a simulated cluster for a scenario to play on over TCP. Where it has
// a second listener, users log in there.
func overTCP(ctx context.Context, cluster *simbroker.Cluster) (stage scenario.Cluster, release func(), err error) {
	if listeners := cluster.Listeners(); len(listeners) > 1 {
		secured, err := simulated.DialSecured(ctx, cluster, listeners[1])
		if err != nil {
			return nil, nil, err
		}
		return secured, secured.Close, nil
	}
	network, err := simulated.Dial(ctx, cluster)
	if err != nil {
		return nil, nil, err
	}
	return network, network.Close, nil
}

// playOn plays a scenario on a cluster, as play does.
func (p *program) playOn(ctx context.Context, s *scenario.Scenario, stage scenario.Cluster, opts scenario.Options) (*scenario.Result, error) {
	opts.Observe = func(r scenario.StepResult) { fmt.Fprintln(p.stdout, r) }
	result, err := s.Run(ctx, stage, opts)
	if err != nil {
		return nil, err
	}
	return result, result.Err()
}
