import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type World, gatewayWorld } from '../world.ts'
import { answers } from './answers.ts'
import {
  type Event,
  type ScriptedVendor,
  type Wire,
  asAsked,
  bringWires,
  modelOf,
  startScripted,
  wires,
} from './scripted.ts'
import { call, eventsIn, surfaces } from './surfaces.ts'

type Json = Record<string, any>

let world: World
let vendor: ScriptedVendor

before(async () => {
  vendor = await startScripted()
  world = await gatewayWorld({ UK_LIMIT_INFERENCE: '0' })
  await bringWires(world, vendor, { capabilities: ['tools', 'image_output'] })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A type of part in an answer, and where it is on the surfaces that can represent it. */
interface Part {
  kind: string
  wire: Wire
  whole: Json
  events: Event[]
  /** The name of the loss if there is no place; `picture`: it is an image. */
  loss: string
  picture?: true
  /** The surfaces to which the answer passes unchanged. */
  own: readonly string[]
}

const chats = ['chat', 'OpenRouter chat']
const own: Record<string, readonly string[]> = {
  chat: chats,
  ollama: chats,
  responses: ['responses', 'OpenRouter responses'],
  anthropic: ['messages', 'OpenRouter messages'],
}

const gemini = (kind: string, part: Json, loss: string, picture?: true): Part => {
  const whole = {
    candidates: [{ finishReason: 'STOP', content: { role: 'model', parts: [{ text: 'Here: ' }, part] } }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1120 },
  }
  return { kind, wire: wires.gemini, whole, events: [whole], loss, own: [], ...(picture && { picture }) }
}

const anthropic = (block: Json): Part => {
  const answer = answers.anthropic({ text: 'Here: ' })
  return {
    kind: block['type'],
    wire: wires.anthropic,
    whole: { ...answer.whole, content: [...answer.whole['content'], block] },
    events: [
      ...answer.events.slice(0, -2),
      { type: 'content_block_start', index: 1, content_block: block },
      { type: 'content_block_stop', index: 1 },
      ...answer.events.slice(-2),
    ],
    loss: `output.${block['type']}`,
    own: own['anthropic']!,
  }
}

const responses = (item: Json, picture?: true): Part => {
  const answer = answers.responses({ text: 'Here: ' })
  const whole = { ...answer.whole, output: [...answer.whole['output'], item] }
  return {
    kind: item['type'],
    wire: wires.responses,
    whole,
    events: [
      ...answer.events.slice(0, -1),
      { type: 'response.output_item.added', output_index: 1, item: { ...item, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 1, item },
      { type: 'response.completed', response: whole },
    ],
    loss: picture ? 'output.image' : `output.${item['type']}`,
    own: own['responses']!,
    ...(picture && { picture }),
  }
}

const chatPicture = (): Part => {
  const answer = answers.chat({ text: 'Here: ' })
  const images = [{ type: 'image_url', index: 0, image_url: { url: `data:image/png;base64,${PNG}` } }]
  const withImages = (answer: Json, field: string): Json => ({
    ...answer,
    choices: answer['choices'].map((choice: Json) => ({ ...choice, [field]: { ...choice[field], images } })),
  })
  const [first, ...rest] = answer.events as Json[]
  return {
    kind: 'images',
    wire: wires.chat,
    whole: withImages(answer.whole, 'message'),
    events: [withImages(first!, 'delta'), ...rest],
    loss: 'output.image',
    picture: true,
    own: chats,
  }
}

const converse = (kind: string, block: Json, loss: string): Part => {
  const answer = answers.converse({ text: 'Here: ' })
  const message = answer.whole['output'].message
  return {
    kind,
    wire: wires.converse,
    whole: { ...answer.whole, output: { message: { ...message, content: [...message.content, block] } } },
    events: [
      ...answer.events.slice(0, -2),
      ['contentBlockDelta', { contentBlockIndex: 1, delta: block }],
      ['contentBlockStop', { contentBlockIndex: 1 }],
      ...answer.events.slice(-2),
    ],
    loss,
    own: [],
  }
}

const parts: Part[] = [
  gemini('a picture', { inlineData: { mimeType: 'image/png', data: PNG } }, 'output.image', true),
  gemini('a video', { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }, 'output.inlineData'),
  gemini('a program', { executableCode: { language: 'PYTHON', code: 'print(1)' } }, 'output.executableCode'),
  gemini('its output', { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }, 'output.codeExecutionResult'),
  gemini('a file', { fileData: { fileUri: 'https://files.example/x', mimeType: 'image/png' } }, 'output.fileData'),
  anthropic({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
  anthropic({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
  anthropic({ type: 'container_upload', file_id: 'file_1' }),
  responses({ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PNG }, true),
  responses({ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } }),
  responses({
    type: 'code_interpreter_call',
    id: 'ci_1',
    status: 'completed',
    code: '1',
    container_id: 'c',
    outputs: [],
  }),
  responses({ type: 'mcp_call', id: 'mcp_1', name: 'x', arguments: '{}', server_label: 's', output: '1' }),
  chatPicture(),
  converse('guardContent', { guardContent: { text: { text: 'x' } } }, 'output.guardContent'),
]

/** True if the answer contains the image in the surface's own place. */
function hasPicture(path: string, history: readonly Json[]): boolean {
  if (path.endsWith('responses'))
    return history.some((item) => item['type'] === 'image_generation_call' && item['result'] === PNG)
  return (history[0]?.['images'] ?? []).some((one: Json) => one['image_url'].url === `data:image/png;base64,${PNG}`)
}

for (const { kind, wire, whole, events, loss, picture, own: passedSurfaces } of parts)
  test(`${wire.name}, ${kind}: each surface represents it or names it as a loss`, async () => {
    vendor.script = asAsked(wire, { whole, events })
    for (const surface of surfaces.filter(({ name }) => !passedSurfaces.includes(name)))
      for (const stream of [true, false]) {
        const at = `${surface.name}, ${stream ? 'streamed' : 'whole'}`
        const turn = await call(world.key, surface, surface.ask(modelOf(wire), 'Draw a dot.'), stream)
        assert.equal(turn.status, 200, `${at}: ${turn.text}`)
        assert.match(turn.words, /^Here: /, at)
        const head = turn.headers.get('x-uk-losses') ?? ''
        if (picture && !surface.path.endsWith('messages')) {
          assert.ok(hasPicture(surface.path, turn.history), `${at}: ${turn.text}`)
          assert.ok(!head.includes(loss), at)
        } else if (stream && !picture) assert.ok(`${head}\n${turn.text}`.includes(loss), `${at}: ${turn.text}`)
        else assert.ok(head.split(', ').includes(loss), `${at}: ${head}`)
      }
  })

/** Completes on REST, whole or streamed. */
async function complete(model: string, stream: boolean): Promise<{ losses: string[]; text: string; head: string }> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
  const answer = await world.person.post(`/inference/text${stream ? '/stream' : ''}`, body)
  assert.equal(answer.status, 200, answer.text)
  const { data } = answer.body ?? {}
  const whole = stream ? eventsIn(answer.text).find(({ message }) => message?.status === 'completed')!['message'] : data
  return { ...whole, head: answer.headers.get('x-uk-losses') ?? '' }
}

test('REST names parts of answers that it can’t represent, whole and streamed', async () => {
  for (const { kind, wire, whole, events, loss } of parts) {
    vendor.script = asAsked(wire, { whole, events })
    for (const stream of [false, true]) {
      const { losses, text, head } = await complete(modelOf(wire), stream)
      assert.match(text, /^Here: /, kind)
      assert.ok(losses.includes(loss), `${wire.name}, ${kind}: ${losses.join()}`)
      // The head of a stream is sent before its parts arrive.
      if (!stream) assert.ok(head.includes(loss), head)
    }
  }
})

test('an image generated on responses returns with the next turn', async () => {
  const { whole, events } = parts[0]!
  vendor.script = asAsked(wires.gemini, { whole, events })
  const surface = surfaces.find(({ name }) => name === 'responses')!
  const model = modelOf(wires.gemini)
  const first = await call(world.key, surface, surface.ask(model, 'Draw a dot.'), true)
  const more = [...first.history, { role: 'user', content: 'Larger.' }]
  await call(world.key, surface, surface.ask(model, 'Draw a dot.', more), true)
  const { contents } = vendor.received.at(-1)!.body
  assert.equal(contents[1].parts.find((part: Json) => part['inlineData']).inlineData.data, PNG)
})
