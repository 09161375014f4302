/** The first answer of which this holds. */
export async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
  }
}
