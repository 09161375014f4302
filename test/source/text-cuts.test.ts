// Thorough
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Node, type SourceFile, isCallExpression, isPropertyAccessExpression } from 'typescript/unstable/ast'
import { API, type Checker } from 'typescript/unstable/sync'

const root = join(import.meta.dirname, '../..')

/** Receivers with only ASCII: digests, random IDs, dates, digits. */
const ASCII =
  /digest\(|hash\(|randomUUID\(|toISOString\(|\biso\(|(?:sha256|updatedAt|updated_at|createdAt|release|today|\bday|\bdigits|(?:A-Z)?(?:a-z)?0-9[^/]*\]\+?\/gi?, '[-_ ]?'\)(?:\s*\.(?:trim|replaceAll)\([^)]*\))*)$/
/** Cuts of ASCII or of text that isn't shown, each with its reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/modules/chats/agent/tools/outside-tools.ts: name': 'a name reduced to ASCII',
  'src/modules/ai-gateway/endpoints/own-speech.ts: at': 'a date',
  'src/modules/api-keys/service.ts: secret': 'the prefix of a key',
  'src/modules/computers/pairing/pairings.ts: code': 'a code of digits and letters',
  'src/modules/drive/find/find-store.ts: inside': 'the bound of a range, never shown',
  'src/infra/bus/bus.ts: message': 'the random ID before a message',
  'src/infra/ledger/reserve.ts: name': 'an ID',
  'packages/http-client/src/retrieve.ts: coding': 'a header, which is Latin-1',
  'packages/linear-grep/src/excerpt.ts: text': 'the part of a text that is cut between characters',
  'packages/media-tools/src/programs.ts: output': 'a line reduced to ASCII',
  'packages/media-tools/src/speech/flite-thread.ts: String': 'a fault of the server',
  'packages/media-tools/src/speech/flite-thread.ts: said': 'a fault of the server',
  'src/interfaces/cli/commands/sign-in/login.ts: key': 'the prefix of a key',
  'src/interfaces/cli/output/table.ts: text': 'a date',
  'src/interfaces/cli/server/credentials.ts: UK_KEY': 'the prefix of a key',
  'src/interfaces/cli/server/download.ts: mark': 'a digest',
  'src/gateway/wire/shared/media.ts: url': 'where a data URL is recognized, never shown',
  'src/gateway/wire/shared/tool-names.ts: words': 'a name reduced to ASCII',
  'src/gateway/wire/converse/encode-messages.ts: name': 'a name reduced to ASCII',
  'web/src/chats/artefacts/kinds.ts: text': 'where a kind is recognized, never shown',
  'web/src/ui/markdown/maths.ts: src': 'where a formula ends is looked for, never shown',
}

const isBound = (words: string): boolean => /^(?:[\d_]+|most\w*|[A-Z][A-Z_]+(?: .*)?)$/.test(words)

function cutsIn(file: SourceFile, path: string, checker: Checker): string[] {
  const cuts: string[] = []
  const visit = (node: Node): void => {
    node.forEachChild(visit)
    if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return
    const { name, expression } = node.expression
    const [from, to] = node.arguments
    if (!/^(?:slice|substring|substr)$/.test(name.text) || from?.getText(file) !== '0' || to === undefined) return
    if (!isBound(to.getText(file))) return
    const type = checker.getTypeAtLocation(expression)
    const words = type === undefined ? '' : checker.typeToString(type)
    if (!/string|^["`]/.test(words) || words.includes('[]')) return
    const receiver = expression.getText(file)
    const start = /^\w*/.exec(receiver)![0]
    if (ASCII.test(receiver) || `${path}: ${start}` in ALLOWED) return
    cuts.push(`${path}: ${receiver.replaceAll(/\s+/g, ' ').slice(-80)}.${name.text}(0, ${to.getText(file)})`)
  }
  file.forEachChild(visit)
  return cuts
}

test('text with a maximum length is cut by shorten(), which never splits a character', () => {
  const api = new API({ cwd: root })
  const cuts: string[] = []
  let files = 0
  try {
    for (const config of ['tsconfig.json', 'web/tsconfig.json'].map((name) => join(root, name))) {
      const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)!
      for (const name of project.program.getSourceFileNames()) {
        const path = name.slice(root.length + 1)
        const isServer = /^(?:src|packages\/(?!client\/))/.test(path) && config.endsWith(join(root, 'tsconfig.json'))
        const isApp = path.startsWith('web/src/') && !config.endsWith(join(root, 'tsconfig.json'))
        if (!(isServer || isApp) || /\.d\.ts$|\.(?:test|long)\.tsx?$|core\/text\/shorten\.ts$/.test(path)) continue
        files += 1
        const file = project.program.getSourceFile(name)!
        if (/\.(?:slice|substring|substr)\(/.test(file.text)) cuts.push(...cutsIn(file, path, project.checker))
      }
    }
  } finally {
    api.close()
  }
  assert.ok(files > 1_500, `${files} files were read`)
  assert.deepEqual(cuts, [], 'use shorten() of src/core/text/shorten.ts')
})
