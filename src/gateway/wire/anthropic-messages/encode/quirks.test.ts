import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { claude } from '../../translating.test.ts'
import { quirksOf } from './quirks.ts'

test('the quirks of every Claude model match the pinned source', () => {
  interface SourceModel {
    id: string
    compat?: {
      forceAdaptiveThinking?: boolean
      supportsMidConvoSystemMessages?: boolean
      supportsTemperature?: boolean
      supportsStrictTools?: boolean
    }
    thinkingLevelMap?: { off?: null; xhigh?: string }
  }
  const source = new URL('../../../../../tools/catalogue/sources/pi-ai-1.5.2/anthropic.json', import.meta.url)
  const models = Object.values(
    JSON.parse(readFileSync(source, 'utf8')) as Record<string, Record<string, SourceModel>>,
  ).flatMap((group) => Object.values(group))
  assert.ok(models.length > 10)
  for (const { id, compat = {}, thinkingLevelMap: levels } of models) {
    const { adaptive, midSystem, noSampling, strictTools, alwaysThinks, xhigh } = quirksOf({ ...claude, model: id })
    assert.deepEqual(
      [id, adaptive, midSystem, noSampling, strictTools],
      [
        id,
        compat.forceAdaptiveThinking === true,
        compat.supportsMidConvoSystemMessages === true,
        compat.supportsTemperature === false,
        compat.supportsStrictTools === true,
      ],
    )
    assert.equal(alwaysThinks, levels?.off === null, id)
    if (levels) assert.equal(xhigh, levels.xhigh !== undefined, id)
  }
})
