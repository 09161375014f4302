import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { fateOf, fates, refuseLost } from './loss-fates.ts'

const gateway = join(import.meta.dirname, '..')

/**
 * Finds every loss named in the source code, with `*` for a variable word. Losses of images, videos, and audio are
 * always named beside the answer (contract, part 16).
 */
function lossesInSource(): Map<string, string> {
  const losses = new Map<string, string>()
  const files = readdirSync(gateway, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => /^(?!media\/).*(?<!\.test)\.ts$/.test(name))) {
    const text = readFileSync(join(gateway, file), 'utf8')
    for (const [, call = ''] of text.matchAll(/\blosses\.(?:add|push)\(([^\n]*)\)/gi))
      for (const [, literal, template] of call.replaceAll(/\['\w+'\]/g, '').matchAll(/'([^']+)'|`([^`]+)`/g))
        losses.set((literal ?? template!).replaceAll(/\$\{[^}]*\}/g, '*'), file)
  }
  return losses
}

test('every loss that a translation can name has a fate: named beside the answer, or refused', () => {
  const losses = lossesInSource()
  assert.ok(losses.size >= 40, String(losses.size))
  const patterns = Object.keys(fates).map(
    (name) => new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '.+')}$`),
  )
  for (const [loss, file] of losses)
    // `*.`: a schema keyword under the field that contains it.
    if (!loss.startsWith('*.'))
      assert.ok(
        patterns.some((pattern) => pattern.test(loss)),
        `${file}: ${loss} is not judged`,
      )
})

test('losing the client’s own content or tool choices is refused; losing sampling settings or extra tools is named', () => {
  const refusedLosses = [
    'messages.input_audio',
    'messages.video_url',
    'messages.compaction',
    'messages.tool_addition',
    'input.input_audio',
    'input.computer_call_output',
    'input.input_image',
    'response_format.grammar',
    'modalities',
    'system',
    'tool_choice',
  ]
  const namedLosses = [
    'temperature',
    'cache_control',
    'tools.web_search_20250305',
    'tools.strict',
    'input.web_search_call',
    'messages.web_search_tool_result',
    'messages.reasoning',
    'response_format',
    'response_format.minLength',
    'context_management',
    'messages.from_a_newer_client',
    'input.from_a_newer_client',
    'what_comes_next_year',
  ]
  for (const name of refusedLosses) {
    assert.equal(fateOf(name), 'refused', name)
    assert.throws(
      () => refuseLost(['seed', name]),
      (error) => error instanceof Refusal && error.param === name,
    )
  }
  for (const name of namedLosses) assert.equal(fateOf(name), 'named', name)
  refuseLost(namedLosses)
})
