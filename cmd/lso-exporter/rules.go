package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/alerting"
	"github.com/lso-exporter/lso-exporter/config"
)

// The forms in which alert rules are printed.
const (
	formatPrometheus     = "prometheus"
	formatPrometheusRule = "prometheusrule"
)

// defaultName is the resource's name unless another is given.
const defaultName = "lso-exporter"

// rulesFlags are what can be chosen for rules besides their thresholds.
type rulesFlags struct {
	format, name, namespace string
	labels                  map[string]string
}

// What Kubernetes takes for the name of a resource and for that of a namespace
// (RFC 1123).
var (
	resourceName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// rulesCommand adds the command that prints alert rules.
func rulesCommand(app *kingpin.Application, p *program) {
	command := app.Command("rules", "Print alert rules with the thresholds of the configuration; start nothing.")
	flags := &rulesFlags{format: formatPrometheus, name: defaultName, labels: map[string]string{}}
	choiceFlag(command, "format", "prometheus for a file of rules, prometheusrule for a resource of the Prometheus operator. Default: "+formatPrometheus+".",
		&flags.format, formatPrometheus, formatPrometheusRule)
	command.Flag("name", "Name of the resource. Default: "+defaultName+".").PlaceHolder("NAME").StringVar(&flags.name)
	command.Flag("namespace", "Namespace of the resource.").PlaceHolder("NAME").StringVar(&flags.namespace)
	command.Flag("label", "A label of the resource, such as the one by which Prometheus picks rules. May be repeated.").
		PlaceHolder("NAME=VALUE").SetValue(checked{flag: "label", set: flags.label, many: true})
	configuration := config.AddFlags(command)
	command.Action(func(*kingpin.ParseContext) error {
		loaded, err := config.LoadContext(p.stop, config.Sources{
			File: configuration.File, Environment: p.environment, Flags: configuration, Offline: true,
		})
		if err != nil {
			return err
		}
		c, err := loaded.ValidatedOffline()
		if err != nil {
			return err
		}
		rules, err := flags.rules(alerting.All(c.Cluster, c.Alerts))
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(rules)
		return failed(err)
	})
}

// label takes NAME=VALUE for a label of the resource.
func (f *rulesFlags) label(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("is no label; write NAME=VALUE")
	}
	f.labels[name] = value
	return nil
}

// rules is the alerts in the form that the flags say.
func (f *rulesFlags) rules(groups []alerting.Group) ([]byte, error) {
	if f.format == formatPrometheus {
		if f.name != defaultName || f.namespace != "" || len(f.labels) > 0 {
			return nil, &mistake{errors.New("command line: --name, --namespace and --label are for a resource; add --format=" + formatPrometheusRule)}
		}
		return alerting.PrometheusRules(groups), nil
	}
	if !resourceName.MatchString(f.name) {
		return nil, &mistake{config.OnCommandLine("--name", f.name, "is no name of a resource; write letters a to z, digits, dots and dashes")}
	}
	if f.namespace != "" && !namespaceName.MatchString(f.namespace) {
		return nil, &mistake{config.OnCommandLine("--namespace", f.namespace, "is no name of a namespace; write letters a to z, digits and dashes")}
	}
	return alerting.PrometheusRule(groups, f.name, f.namespace, f.labels), nil
}
