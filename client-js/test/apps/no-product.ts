// Stands for the products of Firebase that an app of the database does not use,
// and which VueFire imports all the same.
const unused = (): never => {
  throw new Error('this app has no such product')
}

export const initializeAppCheck = unused
export const getDoc = unused
export const getDocs = unused
export const getFirestore = unused
export const getStorage = unused
export const initializeAuth = unused
export const onIdTokenChanged = unused
