package config

import (
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Flags records the flags of a command that hold settings.
type Flags struct {
	// File is the value of --config.file, empty when that was not given.
	File string

	assignments []assignment
}

// AddFlags gives command one flag for each setting, and --config.file. After
// the command line was parsed, the result can be handed to [Load].
func AddFlags(command *kingpin.CmdClause) *Flags {
	flags := &Flags{}
	command.Flag("config.file", "Configuration file (YAML). Environment variable "+configFileVariable+".").
		PlaceHolder("FILE").StringVar(&flags.File)
	c := defaults()
	for _, s := range settings {
		help := s.help
		// What stands for something else is explained already.
		if text := inline(s.get(&c)); text != "" && !strings.Contains(help, "`"+text+"` stands for") {
			help += " Default: " + text + "."
		}
		flags.add(command, s, help)
	}
	return flags
}

// AddFlagsOf gives command the flags of some settings, by their keys, with help
// texts of its own. It panics if there is no such setting.
func AddFlagsOf(command *kingpin.CmdClause, help map[string]string) *Flags {
	flags := &Flags{}
	for key, text := range help {
		at := slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
		if at < 0 {
			panic("config: no setting has the key " + key)
		}
		flags.add(command, settings[at], text)
	}
	return flags
}

func (f *Flags) add(command *kingpin.CmdClause, s setting, help string) {
	command.Flag(s.flag, help).PlaceHolder(placeholder(s.kind)).SetValue(&flagValue{flags: f, setting: s})
}

func placeholder(k kind) string {
	switch k {
	case durationKind:
		return "DURATION"
	case secretKind:
		return "file:PATH"
	case regexpKind:
		return "REGEXP"
	case addressList:
		return "HOST:PORT,..."
	case objectiveList:
		return "'GROUPS OFFSETS AGE',..."
	case patternList:
		return "PATTERN,..."
	}
	return "TEXT"
}

// flagValue records what kingpin reads; whether the value is any good is told
// by Load, in the same words as for the other sources.
type flagValue struct {
	flags   *Flags
	setting setting
	at      int // its assignment in flags, plus one; 0 until it is given
}

// Set records a value. A list's flag may be given several times.
func (v *flagValue) Set(text string) error {
	texts := []string{text}
	if v.setting.kind.list {
		texts = splitList(text)
	}
	if v.at == 0 {
		v.flags.assignments = append(v.flags.assignments, assignment{
			setting: v.setting,
			origin:  Origin{Source: fromCommandLine, Key: "--" + v.setting.flag},
		})
		v.at = len(v.flags.assignments)
	}
	a := &v.flags.assignments[v.at-1]
	if v.setting.kind.list {
		texts = append(a.texts, texts...)
	}
	a.texts, a.shown = texts, v.setting.shown(inline(texts))
	return nil
}

// String is what kingpin shows as the value; the help text has the default.
func (v *flagValue) String() string { return "" }

// IsBoolFlag makes kingpin accept --name and --no-name.
func (v *flagValue) IsBoolFlag() bool { return v.setting.kind == boolKind }

// IsCumulative makes kingpin accept the flag of a list several times.
func (v *flagValue) IsCumulative() bool { return v.setting.kind.list }
