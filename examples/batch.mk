# Make as the scheduler:  make -j4 -f batch.mk MODEL=m.gguf
# answers each prompts/*.txt in answers/*.txt.  Run again, it answers those
# prompts alone that are new or have changed, or all of them when the model has.
# An answer that failed leaves no file, so the next run tries again.
MODEL   ?= smollm2-135m
OPTIONS ?= --temp 0 -n 64
THREADS ?= 1

ANSWERS := $(patsubst prompts/%,answers/%,$(wildcard prompts/*.txt))

.DELETE_ON_ERROR:
all: $(ANSWERS)
# Every program passes on what went wrong before it: tok-decode's status is
# that of the pipe.
answers/%.txt: prompts/%.txt $(wildcard $(MODEL)) | answers
	@rm -f $@
	tok-encode $(MODEL) <$< | llm-decode -q -t $(THREADS) $(OPTIONS) $(MODEL) | tok-decode >$@
answers:
	mkdir $@
