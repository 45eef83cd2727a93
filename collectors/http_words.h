/* http_words.h - why libcurl has failed, in words for who polls a server. */
#ifndef CR_COLLECTORS_HTTP_WORDS_H
#define CR_COLLECTORS_HTTP_WORDS_H

#include "http_url.h"

/** text: what libcurl says of code itself, never NULL. Returns -EPROTO, with failure. [any] */
int http_words_set(CURLcode code, const char *text, struct http_failure *failure);

#endif
