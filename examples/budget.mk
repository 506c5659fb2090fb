# Keep prompts within a budget:  make -f budget.mk MODEL=m.gguf BUDGET=512
# checks prompts/*.txt; one that is too long stops make, and is named.
MODEL  ?= smollm2-135m
BUDGET ?= 512
PROMPTS = $(wildcard prompts/*.txt)

all: $(PROMPTS:.txt=.tokens)
%.tokens: %.txt
	@n=$$(tok-encode -c $(MODEL) $<); \
	if [ "$$n" -gt $(BUDGET) ]; then \
	  echo "$<: $$n tokens, $$((n - $(BUDGET))) too many" >&2; exit 1; \
	fi; \
	echo "$$n" >$@
