import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, claudeChat, readExport } from '#test/cli/exports.ts'
import { readClaude } from './claude.ts'

const ofClaude = (...messages: Json[]) => readExport(readClaude, claudeChat(messages))
const use = (input: Json, name = 'artifacts'): Json => ({ type: 'tool_use', name, input })
const text = (words: string, more: Json = {}): Json => ({ type: 'text', text: words, ...more })

test('Claude artifacts appear in the answer in their last state', () => {
  const list = { command: 'create', id: 'a', title: 'List', type: 'text/markdown', content: '- Raincoat\n' }
  const code = {
    command: 'create',
    id: 'b',
    title: 'Tool',
    type: 'application/vnd.ant.code',
    language: 'python',
    content: 'x = 1',
  }
  const { texts, left } = ofClaude(
    {
      content: [
        text('Here it is.'),
        use(list),
        use({ command: 'update', id: 'a', old_str: 'Rain', new_str: 'Winter ' }),
        text('Done.'),
      ],
    },
    { content: [use(code)] },
    { content: [use({ command: 'update', id: 'a', old_str: 'coat', new_str: 'boots' })] },
    { content: [use({ command: 'rewrite', id: 'b', content: 'x = 2' })] },
    { content: [use({ command: 'update', id: 'a', old_str: 'not there', new_str: 'lost words' })] },
    { content: [use({ command: 'update', id: 'z', old_str: 'x', new_str: 'more lost words' })] },
    { content: [use({ command: 'create', id: 'c', type: 'application/vnd.ant.mermaid', content: 'graph TD' })] },
    { content: [use({ path: '/home/claude/run.sh', file_text: 'echo hi' }, 'create_file')] },
    { content: [use({ path: '/home/claude/run.sh', old_str: 'hi', new_str: 'ho' }, 'str_replace')] },
    { content: [use({ query: 'x' }, 'web_search'), text('Searched.')] },
  )
  assert.deepEqual(texts, [
    'Here it is.\n\n**List**\n\n- Winter coat\n\nDone.',
    '**Tool**\n\n```python\nx = 1\n```',
    '**List**\n\n- Winter boots',
    '**Tool**\n\n```python\nx = 2\n```',
    '> lost words',
    '> more lost words',
    '```mermaid\ngraph TD\n```',
    '**run.sh**\n\n```sh\necho hi\n```',
    '**run.sh**\n\n```sh\necho ho\n```',
    'Searched.',
  ])
  assert.deepEqual(left, {
    'document edits with only the new text in the export': 2,
    'tool calls': 1,
  })
})

test('all Claude content is imported or named in the report', () => {
  const source = { url: 'https://a.example/', title: 'A' }
  const old =
    '<antThinking>hm</antThinking>Here: <antArtifact identifier="x" type="text/html" title="Page"><b>1</b></antArtifact> Enjoy.'
  const cases: Record<string, [message: Json, texts: string[], left: Json]> = {
    'a source of the web': [
      { content: [text('At nine. Closed on Monday.', { citations: [{ end_index: 8, details: source }] })] },
      ['At nine. ([A](https://a.example/)) Closed on Monday.'],
      {},
    ],
    'a source beyond the text': [
      {
        content: [
          text('At nine', {
            citations: [
              { end_index: 900, ...source },
              { url: 'data:x', end_index: 0 },
            ],
          }),
        ],
      },
      ['At nine ([A](https://a.example/))'],
      { 'citations without a URL': 1 },
    ],
    'an artifact in the text': [
      { content: [text(old)] },
      ['Here:\n\n**Page**\n\n```html\n<b>1</b>\n```\n\nEnjoy.'],
      { 'model thoughts': 1 },
    ],
    'an artifact that was cut': [{ content: [text('a <antArtifact type="x">b')] }, ['a <antArtifact type="x">b'], {}],
    'words beside an empty list': [{ content: [], text: 'Words' }, ['Words'], {}],
    speech: [
      { sender: 'human', content: [{ type: 'voice_note', title: 'Note', text: 'Hello' }] },
      ['Note\n\nHello'],
      {},
    ],
    budget: [{ content: [text('x'), { type: 'token_budget' }] }, ['x'], {}],
    thoughts: [{ content: [text('x'), { type: 'redacted_thinking', data: 'y' }] }, ['x'], { 'model thoughts': 1 }],
    'a type that is new': [
      { content: [text('x'), { type: 'hologram' }, 7] },
      ['x'],
      { 'parts of type "hologram"': 1, 'parts of other types': 1 },
    ],
  }
  for (const [name, [message, texts, left]] of Object.entries(cases))
    assert.deepEqual(ofClaude(message), { texts, left }, name)
  assert.deepEqual(ofClaude({ uuid: null, content: [text('x')] }, { content: [text('y')] }), {
    texts: ['y'],
    left: { 'messages without an ID': 1 },
  })
})
