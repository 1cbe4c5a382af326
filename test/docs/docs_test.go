// Package docs holds the pages for users to what they speak of: links lead
// somewhere, and metrics, settings and variables that are named exist.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/metrics"
)

const root = "../.."

// pages are all pages by their path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md", "dashboards/*.md", "deploy/helm/*/README.md", "changelog/*.md", "changelog/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.ToSlash(relative)] = string(content)
		}
	}
	if len(found) < 5 {
		t.Fatalf("only %d pages found", len(found))
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)

func TestLinks(t *testing.T) {
	for page, content := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(content, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(root, filepath.Dir(page), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}

var metricName = regexp.MustCompile(`\b(?:kafka|lso_exporter)_[a-z_]*[a-z]\b`)

func TestMetricsExist(t *testing.T) {
	known := []string{"kafka_exporter"} // a program
	for _, m := range metrics.Catalogue() {
		known = append(known, m.Name)
	}
	for page, content := range pages(t) {
		if page == "docs/migrating.md" {
			content = withoutFirstColumns(content) // names of others
		}
		for _, name := range metricName.FindAllString(content, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s names the metric %s, which does not exist", page, name)
			}
		}
	}
}

// withoutFirstColumns is a page without the first cell of each row of its tables.
func withoutFirstColumns(page string) string {
	return regexp.MustCompile(`(?m)^\|[^|]*\|`).ReplaceAllString(page, "|")
}

// setting matches what pages write as `section.key`, variable an environment
// variable of the exporter.
var (
	setting  = regexp.MustCompile("`((?:kafka|sweep|collectors|transactions|audit|alerts|topics|groups|compatibility|web|reload|log)\\.[a-z_]+)`")
	variable = regexp.MustCompile(`LSO_EXPORTER_[A-Z_]*[A-Z]`)
)

func TestSettingsExist(t *testing.T) {
	known := config.Reference()
	for page, content := range pages(t) {
		for _, m := range setting.FindAllStringSubmatch(content, -1) {
			if ofChart := strings.HasPrefix(page, "deploy/helm/") && strings.HasPrefix(m[1], "web."); ofChart {
				continue // a value, as test/deploy holds, or a file
			}
			if !strings.Contains(known, "`"+m[1]+"`") {
				t.Errorf("%s names the setting %s, which does not exist", page, m[1])
			}
		}
		for _, name := range variable.FindAllString(content, -1) {
			isSetting := strings.Contains(known, "`"+name+"`") || name == "LSO_EXPORTER_CONFIG_FILE"
			ofKubernetes := name == "LSO_EXPORTER_PORT" || name == "LSO_EXPORTER_SERVICE_HOST"
			if !isSetting && !ofKubernetes {
				t.Errorf("%s names the variable %s, which does not exist", page, name)
			}
		}
	}
}

// The first thing that a visitor types works, and there are only two of it.
func TestReadmeHasTwoCommandsToStartWith(t *testing.T) {
	_, section, found := strings.Cut(pages(t)["README.md"], "\n## Try it\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatal("the README has no section \"Try it\"")
	}
	_, block, _ := strings.Cut(section, "```\n")
	block, _, _ = strings.Cut(block, "```")
	if want := "go run ./cmd/lso-exporter demo\ngo test ./...\n"; block != want {
		t.Errorf("the README begins with\n%swant\n%s", block, want)
	}
	if n := strings.Count(section, "```"); n != 2 {
		t.Errorf("%d code fences in \"Try it\", want one block", n)
	}
}

// logLine matches what pages quote of the log.
var logLine = regexp.MustCompile(`(?m)^\s*(?:ERR|WRN|INF) (.+?)(?: [a-z_]+=.*)?$`)

// What pages quote of the log is what the program logs.
func TestLogLines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "cmd/lso-exporter/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program.Write(text)
	}
	quoted := 0
	for page, content := range pages(t) {
		for _, m := range logLine.FindAllStringSubmatch(content, -1) {
			quoted++
			if !strings.Contains(program.String(), `Msg("`+m[1]+`")`) {
				t.Errorf("%s quotes a line of the log that nobody writes: %s", page, m[1])
			}
		}
	}
	if quoted < 3 {
		t.Errorf("only %d lines of the log are quoted", quoted)
	}
}
