/** Where on the page of a computer somebody is: the folder, or the terminal. */
export const placeIn = ({ path, terminal }: Record<string, unknown>): { path?: string; terminal?: string } => ({
  ...(typeof path === 'string' && { path }),
  ...(typeof terminal === 'string' && { terminal }),
})
