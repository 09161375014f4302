/** The server's own voice, for who names no model. */
export const OWN_VOICE = 'local/flite'
