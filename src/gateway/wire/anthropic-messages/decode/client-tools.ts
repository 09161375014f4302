import type { Tool } from '../../../model/canonical-request.ts'

/**
 * Tools that Anthropic defines by type and clients run themselves, with what other models must know to call them
 * (docs.anthropic.com, bash, text editor and memory tools; @langchain/anthropic 1.3.3, tools/types).
 */
const text = { type: 'string' }
const commands = (names: string[], properties: object): object => ({
  type: 'object',
  properties: { command: { type: 'string', enum: names }, ...properties },
  required: ['command'],
})
const edits = {
  path: text,
  file_text: { ...text, description: 'For create: the text of the new file.' },
  old_str: { ...text, description: 'For str_replace: the text to replace. It must appear exactly once.' },
  new_str: { ...text, description: 'For str_replace: the replacement.' },
  insert_line: { type: 'integer', description: 'For insert: the line after which to insert; 0 is the start.' },
}
const range = {
  type: 'array',
  items: { type: 'integer' },
  description: 'For view: the first and the last line; -1 is the end.',
}

const clientTools: readonly { type: RegExp; tool: Omit<Tool, 'name'> }[] = [
  {
    type: /^bash_20(24|25)\d{4}$/,
    tool: {
      description: 'Runs a command in a persistent shell.',
      parameters: { type: 'object', properties: { command: text, restart: { type: 'boolean' } } },
    },
  },
  {
    // This version supports undo, and uses the older name for inserted text.
    type: /^text_editor_(20241022|20250124)$/,
    tool: {
      description: 'Views, creates and edits files.',
      parameters: commands(['view', 'create', 'str_replace', 'insert', 'undo_edit'], { ...edits, view_range: range }),
    },
  },
  {
    type: /^text_editor_20250(429|728)$/,
    tool: {
      description: 'Views, creates and edits files.',
      parameters: commands(['view', 'create', 'str_replace', 'insert'], {
        ...edits,
        insert_text: { ...text, description: 'For insert: the text.' },
        view_range: range,
      }),
    },
  },
  {
    type: /^memory_20250818$/,
    tool: {
      description: 'Stores notes in files under /memories for later conversations.',
      parameters: commands(['view', 'create', 'str_replace', 'insert', 'delete', 'rename'], {
        ...edits,
        insert_text: { ...text, description: 'For insert: the text.' },
        view_range: range,
        old_path: text,
        new_path: text,
      }),
    },
  },
]

export function clientTool(type: string, name: string): Tool | null {
  const match = clientTools.find((one) => one.type.test(type))
  return match === undefined ? null : { name, ...match.tool }
}
