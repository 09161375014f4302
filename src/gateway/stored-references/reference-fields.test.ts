import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { anthropic } from './anthropic.ts'
import { gemini } from './gemini.ts'
import type { ReferenceFields } from './reference-fields.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'

const packages = new URL('../../../node_modules/', import.meta.url)
const readPackageFile = (path: string): string => readFileSync(new URL(path, packages), 'utf8')
const under = (folder: string): string[] =>
  readdirSync(new URL(folder, packages), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => `${folder}/${name}`)

/** Collects declarations by name; duplicates are joined. */
function declarationsIn(text: string): Map<string, string> {
  const declarations = new Map<string, string>()
  const hits = [...text.matchAll(/^\s*(?:export\s+)?(?:declare\s+)?(?:interface|type|namespace|class)\s+(\w+)/gm)]
  for (const [i, { 1: name = '', index }] of hits.entries()) {
    const body = text.slice(index, hits[i + 1]?.index)
    declarations.set(name, `${declarations.get(name) ?? ''}\n${body}`)
  }
  return declarations
}

/** Finds field names that look like IDs, in all types reachable from those of requests. */
function idsIn(files: readonly string[], requests: readonly string[]): string[] {
  const declarations = declarationsIn(
    files
      .map(readPackageFile)
      .join('\n')
      .replaceAll(/\/\*[\s\S]*?\*\//g, ''),
  )
  for (const name of requests) assert.ok(declarations.has(name), `${name} is gone from the SDK`)
  const todo = [...requests]
  const visited = new Set<string>()
  const ids = new Set<string>()
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = declarations.get(name)
    if (visited.has(name) || body === undefined) continue
    visited.add(name)
    for (const [word] of body.matchAll(/\b[A-Z]\w+/g)) todo.push(word)
    for (const { 1: field = '' } of body.matchAll(/^\s*(?:readonly )?['"]?(\w+)['"]?\??:/gm))
      if (/(?:_ids?|[a-z]Ids?)$/.test(field)) ids.add(field)
  }
  return [...ids].toSorted()
}

const vendors: Record<string, { judged: ReferenceFields; files: readonly string[]; requests: readonly string[] }> = {
  openai: {
    judged: openai,
    files: [
      'shared',
      'chat/completions/completions',
      'responses/responses',
      'responses/input-tokens',
      'embeddings',
      'completions',
      'images',
      'moderations',
      'audio/speech',
      'audio/transcriptions',
      'audio/translations',
    ].map((name) => `openai/resources/${name}.d.ts`),
    requests: [
      'ChatCompletionCreateParamsBase',
      'ResponseCreateParamsBase',
      'ResponseCompactParams',
      'InputTokenCountParams',
      'EmbeddingCreateParams',
      'CompletionCreateParamsBase',
      'ImageGenerateParamsBase',
      'ImageEditParamsBase',
      'ModerationCreateParams',
      'SpeechCreateParams',
      'TranscriptionCreateParamsBase',
      'TranslationCreateParams',
    ],
  },
  anthropic: {
    judged: anthropic,
    files: ['messages/messages', 'beta/messages/messages'].map((name) => `@anthropic-ai/sdk/resources/${name}.d.ts`),
    requests: ['MessageCreateParamsBase', 'MessageCountTokensParams'],
  },
  gemini: {
    judged: gemini,
    files: ['@google/genai/dist/genai.d.ts'],
    requests: ['GenerateContentParameters', 'EmbedContentParameters', 'CountTokensParameters'],
  },
  openrouter: {
    judged: openrouter,
    files: under('@openrouter/sdk/esm/models'),
    requests: ['ChatRequest', 'ResponsesRequest', 'MessagesRequest'],
  },
}

for (const [vendor, { judged: fields, files, requests }] of Object.entries(vendors))
  test(`${vendor}: each field that looks like an ID is a reference, or has a reason why not`, () => {
    const ids = idsIn(files, requests)
    assert.ok(ids.length >= 3, ids.join(' '))
    assert.deepEqual(
      ids.filter((name) => !(name in fields.names) && !(name in fields.not)),
      [],
      'judge these in src/gateway/stored-references',
    )
    for (const name of Object.keys(fields.not)) {
      assert.ok(ids.includes(name), `${name} is no field of requests any more`)
      assert.ok(!(name in fields.names), name)
    }
  })
