/** Writes headers as comments of a stream: name, value, …; those without a value are left out. */
export function comments(headers: readonly string[]): string {
  let text = ''
  for (let i = 0; i < headers.length; i += 2)
    if (headers[i + 1] !== '') text += `: ${headers[i]!}: ${headers[i + 1]!}\n`
  return `${text}\n`
}

/** Writes an error as the last event, for routes whose streams have no error event. */
export const errorEvent = (body: object): string =>
  `event: error\ndata: ${JSON.stringify({ type: 'error', ...body })}\n\n`
