import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settings } from '../../../settings.ts'
import { ollamaAddress } from './environment.ts'
import { presets } from './presets.ts'

test('OLLAMA_HOST is parsed like Ollama does', () => {
  const cases: [string | undefined, string | null][] = [
    [undefined, 'http://127.0.0.1:11434'],
    ['', 'http://127.0.0.1:11434'],
    ['off', null],
    ['gpu', 'http://gpu:11434'],
    ['gpu:8080', 'http://gpu:8080'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
    ['http://gpu:11434/', 'http://gpu:11434'],
    ['https://ollama.example.com/team/', 'https://ollama.example.com/team'],
    ['[::1]:11434', 'http://[::1]:11434'],
    ['http://', null],
  ]
  for (const [words, address] of cases) assert.equal(ollamaAddress(words), address, words)
})

test('every key that adds an instance provider is a documented setting, and the reverse', () => {
  const variables = presets.flatMap(({ env }) => (env === null ? [] : [`${env}_API_KEY`, `${env}_BASE_URL`]))
  const settingKeys = settings
    .map(({ name }) => name)
    .filter((name) => /_BASE_URL$|_API_KEY$/.test(name) && !/^(BRAVE|TAVILY)_/.test(name))
  assert.deepEqual(settingKeys.toSorted(), variables.toSorted())
})
