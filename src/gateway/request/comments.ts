/** Name, value, …; headers without a value are left out. */
export function comments(headers: readonly string[]): string {
  let text = ''
  for (let i = 0; i < headers.length; i += 2)
    if (headers[i + 1] !== '') text += `: ${headers[i]!}: ${headers[i + 1]!}\n`
  return `${text}\n`
}

export const errorEvent = (body: object): string =>
  `event: error\ndata: ${JSON.stringify({ type: 'error', ...body })}\n\n`
