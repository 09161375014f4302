import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { recorder } from '#test/cli/uk.ts'
import { wordsOf } from '../words.ts'
import { areaOf, expandCommand, verbs } from './aliases.ts'
import { specialFor, specials } from './commands/specials.ts'
import { exits } from './exit.ts'
import { findCommand } from './resolve.ts'
import { run } from './run.ts'

const registry = list(await loadContracts())
const commands = new Set(registry.map((one) => wordsOf(one).join(' ')))
const areas = [...new Set(registry.map((one) => wordsOf(one)[0]!))]

const found = async (words: string): Promise<string | null> => {
  const expanded = expandCommand(words.split(' '))
  const special = specialFor(expanded)
  if (special) return special.words.join(' ')
  const result = await findCommand(expanded)
  return result.kind === 'command' ? wordsOf(result.listed).join(' ') : null
}

test('every area accepts ls, rm, show and new for the operations it has', async () => {
  const operations: Record<string, readonly string[]> = {
    ls: ['list'],
    rm: ['trash', 'delete', 'remove', 'revoke'],
    show: ['get'],
    new: ['create'],
  }
  let count = 0
  for (const area of areas)
    for (const [alias, meant] of Object.entries(operations)) {
      const verb = meant.find((one) => commands.has(`${area} ${one}`))
      if (verb === undefined) continue
      assert.equal(await found(`${area} ${alias}`), `${area} ${verb}`)
      count++
    }
  assert.ok(count > 40, String(count))
})

test('an alias never hides a command, and never deletes permanently', async () => {
  for (const command of commands) {
    assert.deepEqual(expandCommand(command.split(' ')), command.split(' '))
    assert.equal(await found(command), command)
  }
  for (const { words } of specials) assert.deepEqual(expandCommand(words), [...words])
  assert.ok(!Object.values(verbs).flat().includes('permanent-delete'))
})

test('commands of other CLIs run ours', async () => {
  for (const [typed, meant] of [
    ['auth login', 'login'],
    ['auth status', 'whoami'],
    ['status', 'whoami'],
    ['sign-in', 'login'],
    ['browse chat', 'open'],
    ['ssh box', 'computer ssh'],
    ['exec box', 'computer exec'],
    ['cp a box:b', 'computer cp'],
    ['computers ssh box', 'computer ssh'],
    ['computer ls', 'computers list'],
    ['ps', 'operations list'],
    ['jobs logs', 'operations content'],
    ['tail', 'listen'],
    ['switch Team', 'workspaces use'],
    ['agent describe Clerk', 'agents get'],
    ['keys new', 'api-keys create'],
    ['provider ls', 'ai-gateway list'],
    ['files rm', 'drive trash'],
    ['drive mkdir', 'drive create-folder'],
    ['webhooks logs', 'webhooks deliveries'],
    ['automations trigger', 'automations fire'],
    ['operations watch', 'operations await'],
    ['audio ls', 'audio models'],
    ['config list', 'config'],
  ] as const)
    assert.equal(await found(typed), meant, typed)
  assert.equal(areaOf('nothing'), undefined)
})

test('version has the usual spellings, and a bare verb suggests full commands', async () => {
  for (const words of [['version'], ['--version'], ['-v'], ['-V']]) {
    let out = ''
    const terminal = recorder({ out: async (text) => void (out += String(text)) })
    assert.equal(await run(words, terminal), exits.ok[0])
    assert.match(out, /^uk \d+\.\d+\.\d+/)
  }
  const terminal = recorder()
  assert.equal(await run(['ls'], terminal), exits.usage[0])
  assert.match(terminal.told.join('\n'), /Did you mean `chats list`, `drive list` or `computers list`\?/)
})
