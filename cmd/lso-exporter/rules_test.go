package main

import (
	"os"
	"strings"
	"testing"
)

// The rules without a configuration are those that the repository holds.
func TestRules(t *testing.T) {
	want, err := os.ReadFile("../../deploy/prometheus/lso-exporter.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{"rules", "rules --format=prometheus"} {
		if status, stdout, stderr := execute(t, strings.Fields(arguments)...); status != exitOK || stdout != string(want) || stderr != "" {
			t.Errorf("%s: status %d, %q, and %d bytes of rules, want %d", arguments, status, stderr, len(stdout), len(want))
		}
	}
}

// Thresholds and the cluster come from the configuration, like everywhere.
func TestRulesOfAConfiguration(t *testing.T) {
	status, stdout, stderr := execute(t, "rules", "--format=prometheusrule", "--name=alerts", "--namespace=monitoring", "--label=release=kps",
		"--cluster=payments", "--alerts.stalled=42s", "--alerts.runbooks=https://wiki.example/")
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, want := range []string{
		"\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: alerts\n  namespace: monitoring\n  labels:\n    release: kps\nspec:\n  groups:\n",
		`cluster="payments"`, ") > 42\n", "runbook_url: https://wiki.example/lso-stalled.md\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

func TestRulesMistakes(t *testing.T) {
	for arguments, want := range map[string]string{
		"rules --format=json":                               "command line: --format = \"json\" is not one of prometheus, prometheusrule; choose one of them\n",
		"rules --namespace=x":                               "command line: --name, --namespace and --label are for a resource; add --format=prometheusrule\n",
		"rules --label=a=b":                                 "command line: --name, --namespace and --label are for a resource; add --format=prometheusrule\n",
		"rules --format=prometheusrule --name=My_Rules":     "command line: --name = \"My_Rules\" is no name of a resource; write letters a to z, digits, dots and dashes\n",
		"rules --format=prometheusrule --namespace=My.Home": "command line: --namespace = \"My.Home\" is no name of a namespace; write letters a to z, digits and dashes\n",
		"rules --format=prometheusrule --label=team":        "command line: --label = \"team\" is no label; write NAME=VALUE\n",
		"rules --alerts.stalled=0s":                         "command line: --alerts.stalled = \"0s\" is too short; write at least 1s\n",
	} {
		if status, stdout, stderr := execute(t, strings.Fields(arguments)...); status != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%s: status %d, %q, %q; want %q", arguments, status, stdout, stderr, want)
		}
	}
}
