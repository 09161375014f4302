/** A message that `sim/script` plays: the steps of one turn, or the turns one after another. */
export const script = (...of: readonly object[]): string =>
  JSON.stringify(Array.isArray(of[0]) ? { turns: of } : { steps: of })

export const say = (text: string) => ({ text })
export const call = (name: string, given: object | string = {}) => ({ tool_call: { name, arguments: given } })

/** Tools of an agent by their names. */
export const tools = (policies: Record<string, string>) =>
  Object.entries(policies).map(([name, policy]) => ({ name, policy }))

// Tests look into answers freely.
export const results = ({ content }: any): { output: any; is_error: boolean }[] =>
  content.filter(({ type }: { type: string }) => type === 'tool_result')
