# llmutils: the only makefile.  `make help` lists the targets.
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all deps demo check bench fuzz lint fmt fmt-check install uninstall clean help FORCE
all:
-include config.mk                      # local overrides; never committed

VERSION  = 0.1
B       ?= build
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
CFLAGS  ?= -O2 -g
SAN     ?=
PKGCONF ?= pkg-config
Q       := $(if $(V),,@)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Wundef -Wwrite-strings -Wformat=2 $(if $(DEV),-Werror)
PKGS     = libcbor libxxhash libzstd libpcre2-8 jansson
PULLPKGS = libcurl libcrypto
FLAGS    = -std=c11 -D_POSIX_C_SOURCE=200809L -DLLM_VERSION='"$(VERSION)"' -ffp-contract=off -I. -Ilib -I$B/gen $(WARN) $(CPPFLAGS) $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)$(if $(FUZZER), -fsanitize=fuzzer-no-link)

LIB  := $(wildcard lib/*/*.c lib/*/*/*.c)
CLI  := $(wildcard cmd/common/*.c)
CMDS := $(patsubst cmd/%.c,%,$(wildcard cmd/*.c))
obj   = $(patsubst %.c,$B/%.o,$1)
UNIT := $(patsubst tests/unit/%.c,$B/unit/%,$(wildcard tests/unit/*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$B/fuzz/%,$(wildcard tests/fuzz/*.c))
TOOLS := $(patsubst tests/tools/%.c,$B/tools/%,$(wildcard tests/tools/*.c))
DEBS := gcc clang libclang-rt-14-dev make pkg-config libcbor-dev libxxhash-dev libzstd-dev libpcre2-dev libjansson-dev \
	libcurl4-openssl-dev libssl-dev ca-certificates python3 python3-pip python3-venv python3-cbor2 bats mandoc shellcheck zstd jq clang-format
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# The file name picks the instruction set; everything else is baseline.
$B/%/avx2.o:   ISA = -mavx2 -mfma -mf16c
$B/%/avx512.o: ISA = -mavx512f -mavx512bw -mavx512vl -mavx512vnni -mfma -mf16c
PKG_CFLAGS := $(shell $(PKGCONF) --cflags $(PKGS) $(PULLPKGS) 2>/dev/null)
PKG_LIBS   := $(shell $(PKGCONF) --libs $(PKGS) 2>/dev/null)
$B/bin/gguf-pull: PROGLIBS := $(shell $(PKGCONF) --libs $(PULLPKGS) 2>/dev/null)

## all: build every command
all: $(CMDS:%=$B/bin/%)
$B/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$Q$(CC) $(FLAGS) $(PKG_CFLAGS) $(ISA) -MMD -MP -c -o $@ $<
$B/libllm.a: $(call obj,$(LIB))
	@rm -f $@
	$Q$(AR) rcs $@ $^
# Only what a program uses is linked: --as-needed keeps its start short.
LINK = $(Q)$(CC) $(FLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o,$^) $(filter %.a,$^)
$B/bin/%: $B/cmd/%.o $(call obj,$(CLI)) $B/libllm.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LD    $@")
	$(LINK) $(PKG_LIBS) $(PROGLIBS) -lm -lpthread
$B/bin/gguf-pull: $(call obj,$(wildcard cmd/pull/*.c))
$B/bin/gguf-inspect: $(call obj,$(wildcard cmd/inspect/*.c))
$(UNIT): $B/unit/%: $B/tests/unit/%.o $B/libllm.a
	@mkdir -p $(@D)
	$(LINK) $(PKG_LIBS) -lm -lpthread
$(TOOLS): $B/tools/%: $B/tests/tools/%.o $B/libllm.a
	@mkdir -p $(@D)
	$(LINK) $(PKG_LIBS) -lm -lpthread
# Without FUZZER each target replays the files it is given.
$(FUZZ): $B/fuzz/%: $B/tests/fuzz/%.o $(if $(FUZZER),,$B/tests/fuzz/replay/main.o) $B/libllm.a
	@mkdir -p $(@D)
	$(LINK) $(if $(FUZZER),-fsanitize=fuzzer) $(PKG_LIBS) -lm -lpthread
# Rebuild when the flags change, not only when the sources do.
$B/flags: FORCE
	@mkdir -p $B
	@echo '$(CC) $(FLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(FLAGS) $(LDFLAGS)' >$@
-include $(patsubst %.o,%.d,$(call obj,$(LIB) $(CLI) $(wildcard cmd/*/*.c tests/*/*.c)) $(CMDS:%=$B/cmd/%.o))

## deps: install the Debian packages that building and testing need
deps:
	$(SUDO) apt-get update -qq
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(DEBS)

## check: every test that needs no model
check: all $(UNIT) $(FUZZ) $(TOOLS)
	B=$B sh tests/run.sh

## lint: layers, symbols, headers, docs, layout, shell scripts
lint: all
	B=$B sh tests/lint/lint.sh

## fmt: put clang-format's layout on every C file; fmt-check only looks
fmt fmt-check:
	clang-format $(if $(filter fmt,$@),-i,--dry-run -Werror) $(shell find cmd lib kernels tests -name '*.[ch]')

## clean: remove the build folder
clean:
	rm -rf $B
## help: this list
help:
	@sed -n 's/^## //p' Makefile
