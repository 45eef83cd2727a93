/*
 * http_intake.h - what libcurl hands over of an answer, and where it is broken off: at a body, at
 * headers, or at bytes that are neither, of which there is more than an answer may cost.
 */
#ifndef CR_COLLECTORS_HTTP_INTAKE_H
#define CR_COLLECTORS_HTTP_INTAKE_H

#include "http_transfer.h"

/** Have all of the handle's answers taken in into transfer. Returns as libcurl does. [own] */
CURLcode http_intake_set(CURL *easy, struct http_transfer *transfer);

/** Forget the answer before; another one comes. [own] */
void http_intake_begin(struct http_transfer *transfer);

/** The answer's body is no longer needed. [own] */
void http_intake_drop(struct http_transfer *transfer);

/** The transfer failed with this code: was it we who broke it off, and why? Returns true with
 * failure, or false: the reason is another. [own] */
bool http_intake_judge(const struct http_transfer *transfer, CURLcode code,
		       struct http_failure *failure);

#endif
