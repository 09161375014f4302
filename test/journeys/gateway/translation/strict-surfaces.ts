// One conversation in the format of every surface: a question with media, a tool call, its result, and a reminder.
import type { Json } from '../../../vendors/vendor.ts'

export interface Talk {
  schema?: object
  /** The arguments of the call as a model wrote them; an object for surfaces without text arguments. */
  args?: string
  result?: string
  media?: { type: string; data: string }[]
  text?: string
  /** Text beside the result. */
  reminder?: string
}

export interface Surface {
  path: string
  /** Shapes that receive the client's own bytes. */
  passes: readonly string[]
  body(model: string, talk: Talk): Json
  /** This surface's fields for a file. */
  fields: readonly ((model: string, type: string, data: string) => Json)[]
}

const schemaOf = ({ schema }: Talk): object => schema ?? { type: 'object', properties: {} }
const userMessage = (text: string) => ({ role: 'user', content: text })

function chat(model: string, talk: Talk): Json {
  const { text = 'Hello', args = '{}', result, reminder, media = [] } = talk
  const content = [
    { type: 'text', text },
    ...media.map(({ type, data }) => ({ type: 'image_url', image_url: { url: `data:${type};base64,${data}` } })),
  ]
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: args } }
  return {
    model,
    tools: [{ type: 'function', function: { name: 'look', description: text, parameters: schemaOf(talk) } }],
    messages: [
      { role: 'user', content: media.length > 0 ? content : text },
      ...(result === undefined
        ? []
        : [
            { role: 'assistant', content: null, tool_calls: [call] },
            { role: 'tool', tool_call_id: 'call_1', content: result },
          ]),
      ...(reminder === undefined ? [] : [userMessage(reminder)]),
    ],
  }
}

const chatFields: Surface['fields'] = [
  (model, type, data) => ({
    model,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } },
        ],
      },
    ],
  }),
  (model, type, data) => ({
    model,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'file', file: { filename: 'a.bin', file_data: `data:${type};base64,${data}` } },
        ],
      },
    ],
  }),
]

const source = (type: string, data: string) => ({ type: 'base64', media_type: type, data })

export const surfaces: Record<string, Surface> = {
  chat: {
    path: '/compat-a/v1/chat/completions',
    passes: ['openai-chat', 'ollama', 'mistral'],
    body: chat,
    fields: chatFields,
  },
  openrouter: {
    path: '/compat-c/v1/chat/completions',
    passes: ['openai-chat', 'ollama', 'mistral'],
    body: chat,
    fields: chatFields,
  },
  responses: {
    path: '/compat-a/v1/responses',
    passes: ['openai-responses'],
    body(model, talk) {
      const { text = 'Hello', args = '{}', result, reminder, media = [] } = talk
      return {
        model,
        tools: [{ type: 'function', name: 'look', description: text, parameters: schemaOf(talk) }],
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text },
              ...media.map(({ type, data }) => ({ type: 'input_image', image_url: `data:${type};base64,${data}` })),
            ],
          },
          ...(result === undefined
            ? []
            : [
                { type: 'function_call', call_id: 'call_1', name: 'look', arguments: args },
                { type: 'function_call_output', call_id: 'call_1', output: result },
              ]),
          ...(reminder === undefined ? [] : [userMessage(reminder)]),
        ],
      }
    },
    fields: [
      (model, type, data) => ({
        model,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'x' },
              { type: 'input_image', image_url: `data:${type};base64,${data}` },
            ],
          },
        ],
      }),
      (model, type, data) => ({
        model,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'x' },
              { type: 'input_file', filename: 'a.bin', file_data: `data:${type};base64,${data}` },
            ],
          },
        ],
      }),
    ],
  },
  messages: {
    path: '/compat-b/v1/messages',
    passes: ['anthropic'],
    body(model, talk) {
      const { text = 'Hello', args = '{}', result, reminder, media = [] } = talk
      return {
        model,
        max_tokens: 200,
        tools: [{ name: 'look', description: text, input_schema: { type: 'object', ...schemaOf(talk) } }],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text },
              ...media.map(({ type, data }) => ({ type: 'document', source: source(type, data) })),
            ],
          },
          ...(result === undefined
            ? []
            : [
                {
                  role: 'assistant',
                  content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: inputOf(args) }],
                },
                {
                  role: 'user',
                  content: [
                    { type: 'tool_result', tool_use_id: 'call_1', content: result },
                    ...(reminder === undefined ? [] : [{ type: 'text', text: reminder }]),
                  ],
                },
              ]),
        ],
      }
    },
    fields: ['image', 'document'].map((field) => (model, type, data) => ({
      model,
      max_tokens: 200,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: field, source: source(type, data) },
          ],
        },
      ],
    })),
  },
  inference: {
    path: '/inference/text',
    passes: [],
    body(model, talk) {
      const { text = 'Hello', args = '{}', result, reminder } = talk
      return {
        model,
        tools: [{ name: 'look', description: text, parameters: schemaOf(talk) }],
        messages: [
          userMessage(text),
          ...(result === undefined
            ? []
            : [
                { role: 'assistant', content: [{ type: 'tool_call', id: 'call_1', name: 'look', arguments: args }] },
                { role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'call_1', output: result }] },
              ]),
          ...(reminder === undefined ? [] : [userMessage(reminder)]),
        ],
      }
    },
    fields: [],
  },
}

/** Parses arguments for surfaces with calls as objects. */
function inputOf(args: string): unknown {
  try {
    const input: unknown = JSON.parse(args)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}
  } catch {
    return {}
  }
}
