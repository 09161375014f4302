import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { everyProvider, mediaProviders, providerOf } from './every-provider.ts'

const root = join(import.meta.dirname, '../../..')
const readProjectFile = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Where a provider may be named: its own file and its signing code, catalog data, and vendors' own terms. */
const homes = [
  'src/gateway/providers/',
  'src/gateway/catalogue/',
  // `skill.type` of Anthropic's requests.
  'src/gateway/stored-references/anthropic.ts',
  // LiteLLM's names of providers, and the presets they become.
  'src/interfaces/cli/commands/import/litellm-plan.ts',
]
/** IDs that are also our own words: a shape has that name. */
const words = new Set(['ollama', ...mediaProviders.map(({ id }) => id)])

test('a provider is named in its own file and nowhere else', () => {
  const ids = everyProvider.map(({ id }) => id).filter((id) => !words.has(id))
  const literal = new RegExp(`(['"])(?:${ids.join('|')})\\1`)
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !/\.(test|long)\.ts$|fixtures/.test(file))
  const naming = (file: string): boolean =>
    readProjectFile(file)
      .split('\n')
      .some((line) => literal.test(line.replace(/^\s*(\/\/|\*|\/\*).*/, '')))
  assert.ok(naming('src/gateway/providers/clouds/groq.ts'), 'a literal is found where there is one')
  const violations = files.filter((file) => !homes.some((home) => file.startsWith(home)) && naming(file))
  assert.deepEqual(violations, [], 'what is known of a provider belongs into src/gateway/providers/')
})

test('a provider has one file, and one line in the list', () => {
  const files = globSync('src/gateway/providers/{clouds,media,local}/*.ts', { cwd: root })
  assert.deepEqual(
    files.map((file) => file.split('/').at(-1)!.slice(0, -3)).toSorted(),
    everyProvider.map(({ id }) => id).toSorted(),
  )
  for (const { id } of everyProvider) assert.equal(providerOf(id)?.id, id)
})

test('facts about a provider without a source are listed as unknown', () => {
  for (const { id, reportsCost, needsKey, plainPrices, local, unknown } of everyProvider) {
    assert.equal(unknown.includes('reportsCost'), reportsCost === null, `${id}: reportsCost`)
    assert.equal(unknown.includes('price tiers'), !local && plainPrices === undefined, `${id}: price tiers`)
    assert.equal(unknown.includes('needsKey'), needsKey === null, `${id}: needsKey`)
    assert.equal(new Set(unknown).size, unknown.length, id)
  }
})

test('the docs name every provider with its address', () => {
  const docs = readProjectFile('docs/providers.md')
  const guide = readProjectFile('docs/guides/providers.md')
  for (const { id, baseUrl } of everyProvider) {
    assert.ok(guide.includes(`\`${id}\``), `${id} is in docs/guides/providers.md`)
    if (baseUrl !== null) assert.match(docs, new RegExp(`\\| \`${id}\` +\\| \`${baseUrl}\``), id)
  }
})
