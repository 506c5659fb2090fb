# llmutils: the only makefile.  `make help` lists the targets.
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all deps demo check check-model bench fuzz lint fmt fmt-check install uninstall clean help FORCE
all:
# As many jobs as there are processors, unless -j says otherwise.
ifeq ($(findstring -j,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
-include config.mk                      # local overrides; never committed

VERSION  = 0.1
CROSS   ?=
B       ?= build$(addprefix /,$(CROSS))
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
CFLAGS  ?= -O2 -g
SAN     ?=
# For another processor, say CROSS=aarch64: Debian's names of its tools.
ifneq ($(CROSS),)
CC       = $(CROSS)-linux-gnu-gcc
AR       = $(CROSS)-linux-gnu-ar
STRIP   ?= $(CROSS)-linux-gnu-strip
OBJCOPY ?= $(CROSS)-linux-gnu-objcopy
PKGCONF ?= env PKG_CONFIG_LIBDIR=/usr/lib/$(CROSS)-linux-gnu/pkgconfig pkg-config
EMULATOR ?= qemu-$(CROSS)
endif
PKGCONF ?= pkg-config
STRIP   ?= strip
OBJCOPY ?= objcopy
INSTALL ?= install
Q       := $(if $(V),,@)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Wundef -Wwrite-strings -Wformat=2 $(if $(DEV),-Werror)
PKGS     = libcbor libxxhash libzstd jansson
PULLPKGS = libcurl libcrypto
FLAGS    = -std=c11 -D_POSIX_C_SOURCE=200809L -DLLM_VERSION='"$(VERSION)"' -ffp-contract=off -I. -Ilib -I$B/gen $(WARN) $(CPPFLAGS) $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)$(if $(FUZZER), -fsanitize=fuzzer-no-link)

# The file name picks the instruction set; everything else is baseline, and
# what another processor has is not compiled at all.  Before deps there may be
# no compiler to ask.
MACH  := $(or $(shell $(CC) -dumpmachine 2>/dev/null),$(CROSS),$(shell uname -m))
X86   := avx2 avx2vnni avx512 avx512vnni amx
ARM   := neon dotprod i8mm
OTHER := $(if $(filter x86_64%,$(MACH)),,$(X86)) $(if $(filter aarch64%,$(MACH)),,$(ARM))
LIB   := $(filter-out $(addprefix %/,$(OTHER:=.c)),$(wildcard kernels/*.c kernels/*/*/*.c lib/*/*.c lib/*/*/*.c))
CLI   := $(wildcard cmd/common/*.c)
CMDS  := $(patsubst cmd/%.c,%,$(wildcard cmd/*.c))
# Programs that are mostly the same code are one file: it is named as the first
# of them, and the others are links to it.
LLM   := $(filter $(CMDS),llm-decode gguf-quantize llm-bench llm-embed llm-prefill llm-score llm-spec)
TEXT  := $(filter $(CMDS),tok-encode chat-parse chat-render gguf-convert gguf-inspect gguf-set gguf-split grammar-check tok-decode)
LINKS := $(filter-out $(firstword $(LLM)) $(firstword $(TEXT)),$(LLM) $(TEXT))
FILES := $(filter-out $(LINKS),$(CMDS))
ARCHS := $(sort $(patsubst lib/model/arch/%.c,%,$(wildcard lib/model/arch/*.c)))
MAN   := $(wildcard man/*.[157])
obj    = $(patsubst %.c,$B/%.o,$1)
UNIT  := $(patsubst tests/unit/%.c,$B/unit/%,$(wildcard tests/unit/*.c))
FUZZ  := $(patsubst tests/fuzz/%.c,$B/fuzz/%,$(wildcard tests/fuzz/*.c))
TOOLS := $(patsubst tests/tools/%.c,$B/tools/%,$(wildcard tests/tools/*.c))
# They are not instrumented, which would take clang minutes for each: their
# tests put unreadable pages behind what they may read.
NOSAN := $(if $(SAN)$(FUZZER),-fno-sanitize=all)
avx2       := -mavx2 -mfma -mf16c
avx2vnni   := $(avx2) -mavxvnni
avx512     := $(avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl
avx512vnni := $(avx512) -mavx512vnni
amx        := $(avx512vnni) -mamx-tile -mamx-int8
neon       :=
dotprod    := -march=armv8.2-a+dotprod
i8mm       := -march=armv8.2-a+dotprod+i8mm
$(foreach i,$(X86) $(ARM),$(eval $B/%/$i.o: ISA = $($i) -g1 $(NOSAN)))
# Asked for at first use, which in `make deps check` is after deps.
pkgs       = $(shell $(PKGCONF) $1 2>/dev/null)
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(call pkgs,--cflags $(PKGS) $(PULLPKGS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(call pkgs,--libs $(PKGS)))$(PKG_LIBS)
$B/bin/gguf-pull: PROGLIBS = $(call pkgs,--libs $(PULLPKGS))

## all: build every command
all: $(CMDS:%=$B/bin/%)
$B/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$Q$(CC) $(FLAGS) $(PKG_CFLAGS) $(ISA) -MMD -MP -c -o $@ $<
# q, not r: two folders may each have a ref.o.
$B/libllm.a: $(call obj,$(LIB)) $B/sources
$B/libcli.a: $(call obj,$(CLI)) $B/sources
$B/libllm.a $B/libcli.a:
	@rm -f $@
	$Q$(AR) qcs $@ $(filter %.o,$^)
# What belongs to a program alone is in the folder named by its last word.
own = $(call obj,$(wildcard cmd/$(lastword $(subst -, ,$1))/*.c))
# Only what a program uses is linked: --as-needed keeps its start short.
LINK = $(Q)$(CC) $(FLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o,$^) $(filter %.a,$^)
$(foreach c,$(filter-out $(LLM) $(TEXT),$(CMDS)),$(eval $B/bin/$c: $B/cmd/$c.o $(call own,$c)))
# $1: the programs of a file.
define one
$B/bin/$(firstword $1): $B/one/$(firstword $1).o $(1:%=$B/one/%.main.o) $(foreach c,$1,$(call own,$c))
$B/one/$(firstword $1).o: FLAGS += -DPROGRAMS='$(foreach c,$1,X($(subst -,_,$c), "$c"))'
endef
$(eval $(call one,$(LLM)))
$(eval $(call one,$(TEXT)))
$(patsubst %,$B/one/%.o,$(firstword $(LLM)) $(firstword $(TEXT))): cmd/one/main.c $B/flags $B/sources
	@mkdir -p $(@D)
	$Q$(CC) $(FLAGS) -MMD -MP -c -o $@ $<
$(patsubst %,$B/one/%.main.o,$(LLM) $(TEXT)): $B/one/%.main.o: $B/cmd/%.o
	@mkdir -p $(@D)
	$Q$(OBJCOPY) --redefine-sym main=main_$(subst -,_,$*) $< $@
$(FILES:%=$B/bin/%): $B/libcli.a $B/libllm.a
	@mkdir -p $(@D); rm -f $@
	$(if $(V),,@echo "  LD    $@")
	$(LINK) $(PKG_LIBS) $(PROGLIBS) -lm -lpthread
$(LINKS:%=$B/bin/%): $B/bin/%: FORCE | $(FILES:%=$B/bin/%)
	@ln -sf $(firstword $(if $(filter $*,$(LLM)),$(LLM),$(TEXT))) $@
$(UNIT): $B/unit/%: $B/tests/unit/%.o $B/libllm.a
	@mkdir -p $(@D)
	$(LINK) $(PKG_LIBS) $(PROGLIBS) -lm -lpthread
$B/unit/checkkern: $(call obj,$(filter-out $(addprefix %/,$(OTHER:=.c)),$(wildcard tests/unit/emulated/*/*.c)))
$(TOOLS): $B/tools/%: $B/tests/tools/%.o $B/libllm.a
	@mkdir -p $(@D)
	$(LINK) $(PKG_LIBS) -lm -lpthread
$B/tools/probe: $B/cmd/bench/limits.o
$B/unit/bench: $B/cmd/bench/figures.o
# Without FUZZER each target replays the files it is given.
$(FUZZ): $B/fuzz/%: $B/tests/fuzz/%.o $(if $(FUZZER),,$B/tests/fuzz/replay/main.o) $B/libllm.a
	@mkdir -p $(@D)
	$(LINK) $(if $(FUZZER),-fsanitize=fuzzer) $(PKG_LIBS) -lm -lpthread
$B/fuzz/kv: $(call obj,cmd/common/cli.c $(addprefix cmd/dump/,pass.c rows.c show.c))
need = $(PKGCONF) --exists --print-errors $1 || { echo 'libraries are missing: make deps installs them' >&2; exit 1; }
# Rebuild when the flags change, not only when the sources do, and archive
# again when a source has gone.
stamp = @mkdir -p $B; echo '$1' | cmp -s - $@ || echo '$1' >$@
$B/flags: FORCE | $(filter deps,$(MAKECMDGOALS:demo=deps))
	@$(call need,$(PKGS) $(PULLPKGS))
	$(call stamp,$(CC) $(FLAGS) $(PKG_CFLAGS) $(LDFLAGS))
$B/sources: FORCE
	$(call stamp,$(LIB) $(CLI) $(CMDS))
# What the model can be: one X(name) for each file of its folder.
$B/gen/arch_list.h: FORCE
	@mkdir -p $(@D); printf 'X(%s)\n' $(ARCHS) | cmp -s - $@ || printf 'X(%s)\n' $(ARCHS) >$@
$B/lib/model/model.o: $B/gen/arch_list.h
-include $(patsubst %.o,%.d,$(call obj,$(LIB) $(CLI) $(wildcard cmd/*/*.c tests/*/*.c tests/unit/*/*/*.c)) $(CMDS:%=$B/cmd/%.o))

## deps: install the Debian packages that building and testing need, if they are missing
deps:
	@sh .ci/deps.sh $(CROSS)

## demo: deps, build, fetch a small model, and let it continue a text
demo: deps all
	@B=$B sh examples/demo.sh

## check: every test that needs no model
check: all $(UNIT) $(FUZZ) $(TOOLS)
	@B=$B CC='$(CC)' PKGCONF='$(PKGCONF)' EMULATOR='$(EMULATOR)' sh tests/run.sh

## check-model: tests on two real models, which gguf-pull fetches: golden numbers, the same bits
check-model: all
	@B=$B bash tests/check-model.sh

## fuzz: each fuzz target under clang's sanitizers for FUZZ_SECONDS (60)
FUZZ_SECONDS ?= 60
fuzz:
	$(MAKE) CC=clang SAN=address,undefined FUZZER=1 B=$B/fuzzer fuzz-run
.PHONY: fuzz-run $(FUZZ:%=%-run)
fuzz-run: $(FUZZ:%=%-run)
# What is found goes to $B/fuzzer; the committed corpus is only read.
$(FUZZ:%=%-run): $B/fuzz/%-run: $B/fuzz/%
	@mkdir -p $B/found/$*
	$< -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
	  -artifact_prefix=$B/found/$*- $B/found/$* $(wildcard tests/fuzz/corpus/$*)

## bench: speed, as JSON lines in bench/results.jsonl; bench/trend draws them; README.md has the variables
bench: all $(TOOLS) $B/unit/checkkern
	@B=$B STRIP='$(STRIP)' sh bench/run

## lint: layers, symbols, headers, docs, layout, shell scripts
lint: all
	@B=$B CC='$(CC)' PKGCONF='$(PKGCONF)' VERBOSE=1 sh tests/lint/lint.sh

## fmt: put clang-format's layout on every C file; fmt-check only looks
fmt fmt-check:
	clang-format $(if $(filter fmt,$@),-i,--dry-run -Werror) $(shell find $(wildcard cmd lib kernels tests) -name '*.[ch]')

## install: programs, man pages and completions under $(DESTDIR)$(PREFIX)
D = $(DESTDIR)
install: all
	$(INSTALL) -d $D$(BINDIR) $D$(MANDIR)/man1 $D$(MANDIR)/man5 $D$(MANDIR)/man7 $D$(BASHDIR) $D$(ZSHDIR) $D$(FISHDIR)
	$(INSTALL) -m 755 $(FILES:%=$B/bin/%) $D$(BINDIR)
	$(STRIP) $(FILES:%=$D$(BINDIR)/%)
	cd $B/bin && cp -P $(LINKS) $(abspath $D$(BINDIR))
	@set -e; for p in $(MAN); do $(INSTALL) -m 644 $$p $D$(MANDIR)/man$${p##*.}; done
	$(INSTALL) -m 644 completions/_llmutils $D$(ZSHDIR)
	$(INSTALL) -m 644 completions/llmutils.bash $D$(BASHDIR)/llmutils
	$(INSTALL) -m 644 completions/llmutils.fish $D$(FISHDIR)
	@set -e; for c in $(CMDS); do ln -sf llmutils $D$(BASHDIR)/$$c; ln -sf llmutils.fish $D$(FISHDIR)/$$c.fish; done
## uninstall: exactly what install put there
uninstall:
	rm -f $(CMDS:%=$D$(BINDIR)/%) $(foreach p,$(MAN),$D$(MANDIR)/man$(patsubst .%,%,$(suffix $p))/$(notdir $p)) \
	  $D$(ZSHDIR)/_llmutils $(foreach c,llmutils $(CMDS),$D$(BASHDIR)/$c $D$(FISHDIR)/$c.fish)

## clean: remove the build folder
clean:
	rm -rf $B
## help: this list
help:
	@sed -n 's/^## //p' Makefile
	@echo 'Variables: B=build CC CFLAGS CPPFLAGS LDFLAGS CROSS=aarch64 SAN=address,undefined DEV=1 V=1 PREFIX DESTDIR STRIP FUZZ_SECONDS JOBS'
