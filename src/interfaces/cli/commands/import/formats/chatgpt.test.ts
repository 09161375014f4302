import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, chatgptChat, claudeChat, readExport, said } from '#test/cli/exports.ts'
import { readChatGpt } from './chatgpt.ts'
import { readClaude } from './claude.ts'
import { readOpenWebUi } from './open-webui.ts'

const [OPEN, SEPARATOR, CLOSE] = ['\ue200', '\ue202', '\ue201']
const mark = (...words: string[]): string => `${OPEN}${words.join(SEPARATOR)}${CLOSE}`
const ofChatGpt = (...messages: Json[]) => readExport(readChatGpt, chatgptChat(messages))

const cite = mark('cite', 'turn0search1')
const page = { title: 'Opening [hours]', url: 'https://example.com/hours_(city)' }
const link = '[Opening \\[hours\\]](https://example.com/hours_%28city%29)'
const reference = (more: Json): Json => ({
  content_references: [{ matched_text: cite, type: 'grouped_webpages', ...more }],
})

test('ChatGPT citation marks become links and leave nothing behind', () => {
  const cases: Record<string, [text: string, metadata: Json, shown: string]> = {
    'one page': [`At nine ${cite} today.`, reference({ items: [page] }), `At nine (${link}) today.`],
    'without a space before it': [`At nine${cite}.`, reference({ items: [page] }), `At nine (${link}).`],
    'several pages, one of them twice': [
      `Nine ${cite}.`,
      reference({ items: [page, { title: 'B', url: 'https://b.example/', supporting_websites: [page] }] }),
      `Nine (${link}, [B](https://b.example/)).`,
    ],
    'a page of the older form': [`Nine ${cite}.`, reference({ type: 'webpage', ...page }), `Nine (${link}).`],
    'addresses alone': [
      `Nine ${cite}.`,
      reference({ safe_urls: ['https://a.example/x'] }),
      'Nine ([a.example](https://a.example/x)).',
    ],
    'an address that is no page': [
      `Nine ${cite}.`,
      reference({ items: [{ title: 'X', url: 'javascript:alert(1)' }] }),
      'Nine.',
    ],
    'no reference at all': [`Nine ${cite} today.`, {}, 'Nine today.'],
    'an alternative text': [
      `Try ${cite}!`,
      reference({ type: 'product_entity', alt: '[Acme Kettle]()' }),
      'Try Acme Kettle!',
    ],
    'a file of the person': [`As ${cite} says`, reference({ type: 'file', name: 'plan.pdf' }), 'As (plan.pdf) says'],
    'a link in the mark': [
      `See ${mark('url', 'the docs', 'https://docs.example/')}.`,
      {},
      'See [the docs](https://docs.example/).',
    ],
    'a name in the mark': [`In ${mark('entity', '["city","Rome","the capital"]')}.`, {}, 'In Rome.'],
    'pictures of the web': [`Look. ${mark('image_group', 'turn0image1')}`, {}, 'Look.'],
    'a mark that was cut': [`Nine. ${OPEN}cite${SEPARATOR}turn0`, {}, 'Nine. '],
    'the signs around words': ['This \ue203counts\ue204\ue206.', {}, 'This counts.'],
    'older marks, by number': [
      'Nine【7†source】.',
      { citations: [{ start_ix: 99, end_ix: 100, metadata: { ...page, extra: { cited_message_idx: 7 } } }] },
      `Nine (${link}).`,
    ],
    'older marks, by place': ['Nine【7†source】.', { citations: [{ start_ix: 4, metadata: page }] }, `Nine (${link}).`],
    'older marks without a source': ['Nine【7†L1-L9】.', {}, 'Nine.'],
    'brackets that are no marks': ['【速報】です', {}, '【速報】です'],
    'sources below the answer': [
      `Nine ${cite}.`,
      {
        content_references: [
          { matched_text: cite, items: [page] },
          {
            matched_text: ' ',
            type: 'sources_footnote',
            sources: [page, { attribution: 'B', url: 'https://b.example/' }],
          },
        ],
      },
      `Nine (${link}).\n\nSources:\n\n- [B](https://b.example/)`,
    ],
  }
  for (const [name, [text, metadata, shown]] of Object.entries(cases))
    assert.deepEqual(ofChatGpt(said(text, metadata)).texts, [shown], name)
  const twice = {
    content_references: [
      { matched_text: cite, items: [{ title: 'A', url: 'https://a.example/' }] },
      { matched_text: cite, items: [{ title: 'B', url: 'https://b.example/' }] },
    ],
  }
  assert.deepEqual(ofChatGpt(said(`A ${cite} B ${cite}`, twice)).texts, [
    'A ([A](https://a.example/)) B ([B](https://b.example/))',
  ])
  // User text is never changed.
  const typed = { ...said(`【1†x】 ${cite}`), author: { role: 'user' } }
  assert.deepEqual(ofChatGpt(typed).texts, [`【1†x】 ${cite}`])
  const { left } = ofChatGpt(said(`Nine ${cite}`))
  assert.deepEqual(left, { 'citations without a URL': 1 })
})

const canvas = (verb: string, asked: unknown): Json => ({
  recipient: `canmore.${verb}_textdoc`,
  content: { content_type: 'code', language: 'json', text: JSON.stringify(asked) },
})
const answer = (id: string): Json => ({
  author: { role: 'tool' },
  content: { content_type: 'text', parts: ['Done.'] },
  metadata: { canvas: { textdoc_id: id } },
})

test('canvas documents appear in the chat after each change', () => {
  const { texts } = ofChatGpt(
    canvas('create', { name: 'List', type: 'document', content: '- Raincoat\n- Hat' }),
    answer('d1'),
    canvas('create', { name: 'Tool', type: 'code/python', content: 'print("```")\n' }),
    answer('d2'),
    canvas('update', { updates: [{ pattern: 'Rain\\-?coat', multiple: false, replacement: 'Coat' }] }),
    answer('d1'),
    canvas('update', { updates: [{ pattern: '- Hat', multiple: false, replacement: '- Cap $& $1' }] }),
    answer('d1'),
    canvas('update', { updates: [{ pattern: '.*', multiple: true, replacement: 'print(1)' }] }),
    answer('d2'),
    canvas('comment', { comments: [{ pattern: 'x', comment: 'Shorter, please' }] }),
    said('There.'),
  )
  assert.deepEqual(texts, [
    '**List**\n\n- Raincoat\n- Hat',
    '**Tool**\n\n````python\nprint("```")\n````',
    '> Coat',
    '**List**\n\n- Raincoat\n- Cap $& $1',
    '**Tool**\n\n```python\nprint(1)\n```',
    '- Shorter, please',
    'There.',
  ])
})

test('each branch of a chat has its own version of a document', () => {
  const [chat] = chatgptChat([canvas('create', { name: 'L', type: 'document', content: 'one' }), answer('d')]) as [
    { mapping: Json },
  ]
  const update = (words: string): Json => ({
    author: { role: 'assistant' },
    metadata: {},
    ...canvas('update', { updates: [{ pattern: 'one', replacement: words }] }),
  })
  // The export may list children before their parents.
  chat.mapping = {
    a: { id: 'a', parent: 'm1', message: update('two') },
    b: { id: 'b', parent: 'm1', message: update('three') },
    ...chat.mapping,
  }
  const { texts } = readExport(readChatGpt, [chat])
  assert.deepEqual(texts.toSorted(), ['**L**\n\none', '**L**\n\nthree', '**L**\n\ntwo'])
})

test('all ChatGPT content is imported or named in the report', () => {
  const of = (content: Json, more: Json = {}): Json => ({ content, ...more })
  const cases: Record<string, [message: Json, texts: string[], left: Json]> = {
    code: [of({ content_type: 'code', language: 'python', text: 'x = 1' }), ['```python\nx = 1\n```'], {}],
    quote: [of({ content_type: 'tether_quote', title: 'Page', text: 'Words' }), ['> Page\n>\n> Words'], {}],
    thoughts: [of({ content_type: 'thoughts', thoughts: [{ content: 'hm' }] }), [], { 'model thoughts': 1 }],
    recap: [of({ content_type: 'reasoning_recap', content: '5 s' }), [], { 'model thoughts': 1 }],
    memory: [of({ content_type: 'model_editable_context' }), [], { 'custom instructions and memories': 1 }],
    'a type that is new': [of({ content_type: 'hologram' }), [], { 'parts of type "hologram"': 1 }],
    'a part that is new': [
      of({ content_type: 'multimodal_text', parts: ['Look', { content_type: 'smell' }] }),
      ['Look'],
      { 'parts of type "smell"': 1 },
    ],
    'a type that is no name': [of({ content_type: '\u001b[2J' }), [], { 'parts of other types': 1 }],
    'a call': [of({ content_type: 'code', text: 'x' }, { recipient: 'python' }), [], { 'tool calls': 1 }],
    'a canvas in another form': [
      of({ content_type: 'code', text: 'no JSON' }, { recipient: 'canmore.create_textdoc' }),
      [],
      { 'tool calls': 1 },
    ],
    'an answer to a passage': [
      { ...said('Why?', { targeted_reply: 'a\nb' }), author: { role: 'user' } },
      ['> a\n> b\n\nWhy?'],
      {},
    ],
    'a research': [
      {
        author: { role: 'tool' },
        content: { content_type: 'text', parts: [''] },
        metadata: { chatgpt_sdk: { widget_state: JSON.stringify({ report_message: said('# Report') }) } },
      },
      ['# Report'],
      {},
    ],
    speech: [
      of({ content_type: 'multimodal_text', parts: [{ content_type: 'audio_transcription', text: 'Hello' }] }),
      ['Hello'],
      {},
    ],
  }
  for (const [name, [message, texts, left]] of Object.entries(cases)) {
    const shown = ofChatGpt(message)
    assert.deepEqual(shown.texts, texts, name)
    assert.deepEqual(shown.left, texts.length === 0 ? { ...left, 'chats without text': 1 } : left, name)
  }
  const many = ofChatGpt(...Array.from({ length: 100 }, (_, i) => of({ content_type: `kind-${i}` })), said('x'))
  assert.equal(Object.keys(many.left).length, 61)
  assert.equal(
    Object.values(many.left).reduce<number>((sum, count) => sum + count, 0),
    100,
  )
})

test('every reader counts chats of other apps by app', () => {
  const chats = {
    ChatGPT: { readers: [readClaude, readOpenWebUi], chats: chatgptChat([said('x')]) },
    Claude: { readers: [readChatGpt, readOpenWebUi], chats: claudeChat([{ content: [{ type: 'text', text: 'x' }] }]) },
    'Open WebUI': { readers: [readChatGpt, readClaude], chats: [{ id: 'w', chat: { history: { messages: {} } } }] },
  }
  for (const [name, { readers, chats: given }] of Object.entries(chats))
    for (const reader of readers) {
      const [[what, count] = []] = Object.entries(readExport(reader, given).left)
      assert.match(what!, new RegExp(`^${name} chats \\(import them`))
      assert.equal(count, 1)
    }
})
