/** Nobody: a connection that has not signed in, or has signed out. */
export const NOBODY = ''

/** Reports whether a request of the protocol signs in. */
export const signsIn = (action: string): boolean => action === 'auth' || action === 'gauth'

/**
 * As whom a connection acts after a request; undefined if that does not change it.
 * Two tokens are of the same user if they claim the same but for their age: a role
 * that only one of them has makes two users, as the rules can tell them apart.
 */
export function userAfter(action: string, { cred = '' }: { cred?: string }): string | undefined {
  if (action === 'unauth') return NOBODY
  return signsIn(action) ? `${action} ${claimsOf(cred) ?? cred}` : undefined
}

function claimsOf(credential: string): string | undefined {
  const payload = credential.split('.')[1]
  try {
    const text = atob(payload!.replace(/-/g, '+').replace(/_/g, '/'))
    const { iat, exp, nbf, jti, ...claims } = JSON.parse(text)
    return JSON.stringify(claims)
  } catch {
    return undefined // a secret, which is as good as a name
  }
}
