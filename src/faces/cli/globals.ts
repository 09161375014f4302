/** Options of the program itself; a command's own field of the same name wins. */
export const globals = {
  json: ['switch', 'Print the answer exactly as the API gives it.'],
  query: ['value', 'Print one field, such as id or run.status; of a list, of every row. Short: -q.'],
  jq: ['value', 'Print what this jq filter makes of the JSON.'],
  all: ['switch', 'Every page of a list; with --json one row per line.'],
  wait: ['switch', 'Wait until background work has ended.'],
  output: ['value', 'Write bytes, or what was made, to this file; - is stdout. Short: -o.'],
  input: ['value', 'Take fields from a JSON file; - is stdin. Flags win.'],
  workspace: ['value', 'The workspace that is meant, by name or id; none is none in particular.'],
  origin: ['value', 'The instance to talk to.'],
  email: ['value', 'Who signs in, where a session is needed.'],
  'password-stdin': ['switch', 'Read the password from stdin.'],
  'no-input': ['switch', 'Never ask.'],
  help: ['switch', 'Explain the command.'],
} as const satisfies Record<string, readonly ['switch' | 'value', string]>

export type Global = keyof typeof globals
export type Globals = { [G in Global]?: (typeof globals)[G][0] extends 'switch' ? true : string }
