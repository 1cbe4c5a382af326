package main

import (
	"os"
	"testing"
)

// What is printed is the file that the repository holds.
func TestDashboard(t *testing.T) {
	want, err := os.ReadFile("../../dashboards/lso-exporter.json")
	if err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := execute(t, "dashboard"); status != exitOK || stdout != string(want) || stderr != "" {
		t.Errorf("status %d, %q, and %d bytes, want %d", status, stderr, len(stdout), len(want))
	}
}
