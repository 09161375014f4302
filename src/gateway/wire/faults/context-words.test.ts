import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeError as writeMessageError } from '../anthropic-messages/write/errors.ts'
import { contextWords } from './context-words.ts'
import { kindOf, readFault, readStreamFault } from './faults.ts'
import { writeError } from '../openai-chat/write/errors.ts'

const kind = (status: number, body: object) => readFault(status, {}, JSON.stringify(body)).kind
const openai = (message: string) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } })

test('Claude Code receives a context overflow in the words that make it compact', () => {
  const messageFor = (message: string) =>
    (writeMessageError({ kind: 'context_length', message }, null).body as { error: { message: string } }).error.message
  assert.equal(
    messageFor("This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens."),
    'prompt is too long: 10000 tokens > 8192 maximum',
  )
  assert.equal(messageFor('prompt is too long: 5 tokens > 4 maximum'), 'prompt is too long: 5 tokens > 4 maximum')
  assert.equal(
    messageFor('the request exceeds the available context size'),
    'prompt is too long: the request exceeds the available context size',
  )
})

test('each surface reports a context overflow with its own code, however the provider words it', () => {
  for (const { provider, said, words } of contextWords) {
    assert.match(said, words, provider)
    const bodies: [number, object | string][] = [
      [400, openai(said)],
      [413, openai(said)],
      [422, { detail: said }],
      [400, { type: 'error', error: { type: 'invalid_request_error', message: said } }],
      [400, { error: { code: 400, message: said, status: 'INVALID_ARGUMENT' } }],
      [400, { message: said }],
      [400, { error: said }],
      [500, { error: { code: 500, message: said, type: 'server_error' } }],
      [400, said],
    ]
    for (const [status, body] of bodies) {
      const fault = readFault(status, {}, typeof body === 'string' ? body : JSON.stringify(body))
      assert.equal(fault.kind, 'context_length', `${provider}: ${status} ${JSON.stringify(body)}`)
      const a: any = writeError(fault, 'compat-a')
      assert.deepEqual([a.status, a.body.error.code], [400, 'context_length_exceeded'])
      const c: any = writeError(fault, 'compat-c')
      assert.deepEqual([c.status, c.body.error.metadata.error_type], [400, 'context_length_exceeded'])
      const b: any = writeMessageError(fault, null)
      assert.equal(b.status, 400)
      assert.match(b.body.error.message, /^prompt is too long|^input length and `max_tokens` exceed context limit/)
    }
    assert.equal(readStreamFault({ message: said, type: 'invalid_request_error' }).kind, 'context_length', provider)
  }
})

test('the figures in a provider’s message are the ones that Claude Code reads', () => {
  const messageFor = (message: string) =>
    (writeMessageError({ kind: 'context_length', message }, null).body as any).error.message as string
  const bySource = (name: string) => contextWords.find(({ provider }) => provider === name)!.said
  assert.equal(messageFor(bySource('Gemini, Vertex')), 'prompt is too long: 1200293 tokens > 1048576 maximum')
  assert.equal(messageFor(bySource('Vertex')), 'prompt is too long: 1251952 tokens > 1048576 maximum')
  assert.equal(messageFor(bySource('Moonshot')), 'prompt is too long: 268212 tokens > 262144 maximum')
  assert.equal(messageFor(bySource('xAI')), 'prompt is too long: 537812 tokens > 131072 maximum')
})

test('each provider’s code for a context overflow counts without a message', () => {
  for (const code of [
    'context_length_exceeded',
    'context_window_exceeded',
    'model_context_window_exceeded',
    'ContextWindowExceededError',
    'exceed_context_size_error',
    'model_max_prompt_tokens_exceeded',
  ]) {
    for (const body of [{ code }, { type: code }, { status: code }, { code: 400, type: code }])
      assert.equal(kind(400, { error: { message: 'Bad request', ...body } }), 'context_length', JSON.stringify(body))
    assert.equal(readStreamFault({ code, message: 'no' }).kind, 'context_length', code)
  }
})

test('rate limits and limits of output, images, and single fields aren’t context overflows', () => {
  for (const message of [
    'Too many tokens, please wait before trying again.',
    'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000.',
    'Too many tokens per day, please try again tomorrow.',
    'Daily token limit exceeded for this account.',
    'Requests to this deployment have exceeded the token limit of 1000 tokens per 60 seconds.',
    'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x',
    'max_tokens is too large: 200000. This model supports at most 16384 completion tokens.',
    'The maximum tokens you requested exceeds the model limit of 2048. Try again with a maximum tokens value that is lower than 2048.',
    'maximum allowed tokens for output is 4096',
    'The maximum number of tokens to generate must be at least 1.',
    'Output token limit exceeded',
    'Requested tokens exceed the maximum number of tokens for the completion.',
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
    'At least one of the image dimensions exceed max allowed size: 8000 pixels',
    "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 80 instead. string_above_max_length",
    'Too many tools: maximum is 128',
    'Range of max_tokens should be [1, 8192]',
    'the context of this conversation was not found',
  ])
    for (const status of [400, 429, null])
      assert.notEqual(kindOf(status, message), 'context_length', `${status} ${message}`)
})
