package suites

import (
	"os"
	"path/filepath"
	"testing"
)

// The program is also what sarama's tests find under the name of docker.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "docker" {
		os.Exit(dockerStandIn(os.Args[1:]))
	}
	os.Exit(m.Run())
}
