"""Sources of arrays: lists, buffers, numbers; and arguments that lose something if cast."""

import array
import collections
import enum

import ml_dtypes
import numpy as np


class Color(enum.IntEnum):
    """An enumeration of integers."""

    RED = 3


class MyInt(int):
    """A subclass of the integers."""


class MyFloat(float):
    """A subclass of the floats."""


class HasArray:
    """An object that has `__array__` only."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        """The array."""
        return np.asarray(self.x, dtype)


def names(jnp):
    """The names that the expressions mention, besides those of all expressions."""

    class HasJax:
        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return jnp.asarray(self.x)

    return {
        "Color": Color,
        "HasArray": HasArray,
        "HasJax": HasJax,
        "MyFloat": MyFloat,
        "MyInt": MyInt,
        "bfloat16": ml_dtypes.bfloat16,
        "buffer": array.array,
        "deque": collections.deque,
        "w": jnp.array(1.5),
        "wi": jnp.array(2),
        "bf": jnp.ones(2, "bfloat16"),
        "half": jnp.arange(3, dtype="float16"),
        "three": jnp.array(3, "int32"),
        "Y": jnp.arange(6.0).reshape(2, 3),
        "K": jnp.arange(6).reshape(2, 3),
        "Z": jnp.array([1 + 2j, 0, 3j], "complex64"),
    }


EXPRESSIONS = """
jnp.array([np.float16(1),2.])
jnp.array([np.float16(1),2])
jnp.array([[np.float16(1),2.],[3.,4]])
jnp.array([np.int8(1),1])
jnp.array([np.int8(1),1.5])
jnp.array([1,2.5])
jnp.array([True,2])
jnp.array([True,np.int8(3)])
jnp.array([1,2j])
jnp.array([w,w])
jnp.array([w,w])*bf
jnp.array([w,wi])
jnp.array([w,1])
jnp.array([wi,1])
jnp.array([wi,np.int8(1)])
jnp.array([jnp.int8(1),1])
jnp.array([[jnp.int8(1),1],[2,3]])
jnp.array([jnp.ones(2,'int8'),[1,2]])
jnp.array([jnp.ones(2,'bfloat16'),[1.,2]])
jnp.array((w,w))
jnp.array([[w]])
jnp.array([[w],[w]],'float16')
jnp.asarray([w,w])
jnp.stack([w,w])
jnp.array([np.float32(1),np.float64(2)])
jnp.array([np.ones(2,'float16'),np.ones(2,'float32')])
jnp.array([np.ones(2,'float16'),[1,2]])
jnp.array([bfloat16(1),2.])
jnp.array([np.uint8(200),np.int8(-1)])
jnp.array([np.uint32(200),np.int32(-1)])
jnp.array(range(5))
jnp.array(range(0))
jnp.asarray(range(2,8,3))
jnp.array(range(3),float)
jnp.array([range(3),range(3)])
jnp.array(memoryview(b'abc'))
jnp.array([memoryview(b'abc'),memoryview(b'abd')])
jnp.array(bytearray(b'abc'))
jnp.array(b'abc')
jnp.array('abc')
jnp.array(buffer('i',[2,3]))
jnp.array(buffer('d',[2,3]))
jnp.array([buffer('d',[2,3]),buffer('d',[2,3])])
jnp.array(deque([1,2]))
jnp.array(deque([1.,w]))
jnp.array(deque([]))
jnp.array(HasArray([1,2]))
jnp.array(HasArray(np.ones(2,'int8')))
jnp.array([HasArray([1,2]),HasArray([1,2])])
jnp.array(HasArray([1,2]),float)
jnp.array(HasJax([1,2]))
jnp.array([HasJax([1,2]),HasJax([1,2])])
jnp.array([HasJax(1),2.5])
jnp.array(Color.RED)
jnp.array([Color.RED,1])
jnp.array(Color.RED,float)
jnp.array(MyInt(2))
jnp.array(MyFloat(2.5))
jnp.array([MyFloat(2.5),MyInt(1)])
jnp.array(MyFloat(2.5),'int32')
jnp.array({1,2})
jnp.array({1:2})
jnp.array((x for x in [1,2]))
jnp.array(None)
jnp.array([1,None])
jnp.array([[1],[None]])
jnp.array([1,'a'])
jnp.array([[1,2],[3]])
jnp.array([w,[1,2]])
jnp.array([])
jnp.array([[]])
jnp.array([[],[]],int)
jnp.array(())
jnp.array([(),()])
jnp.array([2**40])
jnp.array(2**40)
jnp.array([2**31])
jnp.array([2**70])
jnp.array([-1],'uint8')
jnp.array([300],'uint8')
jnp.array(-1,'uint8')
jnp.array(300,'uint8')
jnp.array([1.5],'int8')
jnp.array([1j],'float32')
jnp.array(1j,'float32')
jnp.array(1j,bool)
jnp.array([1j],bool)
jnp.array(np.array([1j]),bool)
jnp.array(1.5,int)
jnp.array(1,ndmin=2)
jnp.array(w,ndmin=2)
jnp.array([w],ndmin=2)
jnp.array([1],ndmin=3)
jnp.array(object())
jnp.array([object()])
jnp.array(np.array(['a']))
jnp.array(np.array([1,None]))
jnp.array(np.array([object()]))
jnp.array(np.datetime64('2020-01-01'))
jnp.array(slice(3))
jnp.array(Ellipsis)
jnp.array(np.float64(1.5))
jnp.array(np.int64(1))
jnp.array(np.int64(2**40))
jnp.array(np.uint64(2**40))
jnp.array(np.array([2**40]))
jnp.array([np.int64(2**40)])
jnp.array(w,'float32')
Z.astype(bool)
jnp.array(1+0j).astype(bool)
Z.astype(int)
Z.astype('float16')
Z.astype('complex64')
jnp.astype(Z,bool)
half.astype(bool)
jax.jit(lambda c:c.astype(bool))(Z)
jnp.int32==int
jnp.bfloat16=='bfloat16'
jnp.cumulative_sum(half,dtype=bool)
jnp.cumsum(half,dtype=bool)
jnp.cumprod(half,dtype=bool)
jnp.cumulative_prod(half,dtype=bool)
jnp.sum(half,dtype=bool)
jnp.prod(half,dtype=bool)
jnp.mean(half,dtype=bool)
jnp.mean(half,dtype=int)
jnp.trace(Y,dtype=bool)
jnp.cumsum(Z,dtype=float)
jnp.sum(Z,dtype=float)
jnp.std(Z,dtype=float)
jnp.var(Y,dtype=int)
jnp.std(Y,dtype=complex)
jnp.interp(1.5,jnp.arange(3.),jnp.arange(3.),left=1j)
jnp.interp(-1.5,jnp.arange(3.),jnp.arange(3.),left=1j)
jnp.interp(1.5,jnp.arange(3.),jnp.arange(3.),right=1j)
jnp.interp(1.5,jnp.arange(3.),Z)
jnp.interp(1j,jnp.arange(3.),jnp.arange(3.))
jnp.interp(1.5,Z,jnp.arange(3.))
jnp.interp(1,jnp.arange(3),jnp.arange(3))
jnp.interp(1.5,jnp.arange(3.),jnp.arange(3.),left='extrapolate')
jnp.interp(1.5,jnp.arange(3.),jnp.arange(3.),left='a')
jnp.interp(1.5,jnp.arange(3),jnp.arange(3),left=2.5)
jnp.take(Y,jnp.array([0,7]),fill_value=1j)
jnp.take(K,jnp.array([0,7]),fill_value=1.5)
jnp.take(K,jnp.array([0,7]),fill_value=300)
jnp.take(Y,jnp.array([0,7]),fill_value=1)
jnp.take(Y>1,jnp.array([0,7]),fill_value=2)
K.at[jnp.array([7])].get(mode='fill',fill_value=1.5)
jnp.take_along_axis(Y,jnp.array([[9]]),axis=1,mode='fill',fill_value=1j)
jnp.nonzero(K,size=8,fill_value=1.5)
jnp.nonzero(K,size=8,fill_value=1j)
jnp.nonzero(K,size=8,fill_value=True)
jnp.nonzero(K,size=8,fill_value=jnp.float32(2))
jnp.nonzero(K,size=8,fill_value=(1,2))
jnp.nonzero(K,size=8,fill_value=(1.5,2))
jnp.nonzero(K,size=8,fill_value=(1,2,3))
jnp.flatnonzero(K,size=8,fill_value=1.5)
jnp.argwhere(K,size=8,fill_value=1.5)
jnp.where(K,size=8,fill_value=1.5)
jnp.unique(K,size=8,fill_value=1.5)
jnp.unique(K,size=8,fill_value=1j)
jnp.unique_values(K,size=8,fill_value=1.5)
jnp.union1d(K,K,size=8,fill_value=1.5)
jnp.intersect1d(K,K,size=8,fill_value=1.5)
jnp.setdiff1d(K,K+3,size=8,fill_value=1.5)
jnp.setxor1d(K,K+3,size=9,fill_value=1.5)
jnp.extract(K,K,size=8,fill_value=1.5)
jnp.compress(jnp.array([1,0,1]),K,axis=1,size=3,fill_value=1.5)
jnp.pad(K,1,constant_values=1.5)
jnp.pad(K,1,constant_values=1j)
jnp.full((2,),1j,'float32')
jnp.full_like(Y,1j)
jnp.where(Y>1,size=3)
(1,)*three
three*(1,)
[1]*three
three*[1]
'a'*three
b'a'*three
(1,)+three
[1]+Y
Y+[1]
(1,)*Y
(1,2)*jnp.array([1,2])
jnp.array([1])*(1,)
Y==[1]
Y=='a'
Y==None
Y!=None
Y<(1,)
jnp.split(Y,-1)
jnp.split(Y,0)
jnp.split(Y,4)
jnp.split(Y,3)
jnp.split(Y,3,axis=1)
jnp.array_split(Y,-1)
jnp.array_split(Y,0)
jnp.hsplit(Y,-1)
jnp.split(Y,[1],axis=5)
jnp.split(Y,(1,),axis=1)
jnp.split(Y,jnp.array([1]),axis=1)
jnp.isinf(1.0)
jnp.isinf(1)
jnp.isnan(1.0)
jnp.isfinite(1.0)
jnp.isfinite(1)
jnp.isneginf(1.0)
jnp.isposinf(1.0)
jnp.signbit(1.0)
jnp.isreal(1.0)
jnp.iscomplex(1.0)
jnp.logical_not(1.0)
jnp.logical_and(1.0,2)
jnp.equal(1.0,2)
jnp.isclose(1.0,2)
jnp.allclose(1.0,2)
jax.jit(lambda:jnp.identity(2))()
'a'*three
three*'a'
b'a'*three
{1}*three
{1:2}|three
three+[1]
three@[1]
three|[1]
[1]@three
three%(1,)
three//(1,)
three<<(1,)
Y<[1]
Y>=(1,)
(1,)>Y
Y+{1}
Y+None
Y+'a'
Y+b'a'
divmod(Y,[1])
pow(Y,[1])
Y**(1,)
Y==(1,)
Y=={1}
Y!=[0]
range(3)*three
three*range(3)
jnp.isinf(1)
jnp.isinf(w)
jnp.isinf(True)
jnp.isinf(1j)
jnp.isnan(1j)
jnp.isnan(1)
jnp.isfinite(1j)
jnp.isneginf(1)
jnp.isneginf(w)
jnp.isreal(1)
jnp.isreal(1j)
jnp.isreal(w)
jnp.isreal(Y)
jnp.iscomplex(1)
jnp.iscomplex(1j)
jnp.iscomplex(w)
jnp.isclose(1,2)
jnp.isclose(1,2.)
jnp.isclose(w,w)
jnp.isclose(w,w,equal_nan=True)
jnp.isclose(1j,2)
jnp.allclose(1,2)
jnp.array_equal(1,2)
jnp.array_equal(w,w)
jnp.array_equal(w,w,equal_nan=True)
jnp.array_equiv(1,2)
jnp.signbit(w)
jnp.logical_not(w)
jnp.equal(w,w)
jnp.isin(1,2)
jnp.isin(w,w)
jnp.any(w)
jnp.all(1.0)
jnp.sin(MyFloat(2.))
jnp.add(Y,Color.RED)
Y+MyInt(2)
Y+MyFloat(2)
MyFloat(2)*Y
Y*Color.RED
jnp.add(MyInt(1),MyInt(2))
jnp.where(Y>1,MyFloat(1),MyInt(2))
jnp.full(2,MyInt(3))
jnp.full(2,Color.RED)
jnp.zeros(MyInt(3))
jnp.arange(MyInt(3))
jnp.arange(Color.RED)
jnp.sum(Y,axis=MyInt(1))
jax.jit(lambda x:x)(MyInt(1))
jax.jit(lambda x:x+1)(Color.RED)
jax.jit(lambda x:x+1)(MyFloat(1))
jax.vmap(lambda x,y:x+y,(0,None))(Y,MyFloat(1))
jax.grad(lambda x:x*x)(MyFloat(1))
jnp.sin(HasArray(1.))
jnp.sin([1.])
jnp.add(Y,HasArray(1.))
jax.jit(lambda x:x)(HasArray(1.))
jnp.sin(range(3))
jnp.sin(deque([1]))
Y.reshape(range(1,3))
jnp.zeros(range(2))
jnp.concatenate([range(3),range(3)])
jnp.stack([1,2.])
jnp.stack([w,w])
jnp.hstack([1,2])
jnp.concatenate([Y,[[1,2,3]]])
jnp.searchsorted(jnp.arange(3),range(2))
jnp.array([np.float64(1)])
jnp.array([[1,2],(3,4)])
jnp.array([[True]])
jnp.array([1,np.array([2])])
jnp.array([np.array(1),np.array(2)])
jnp.array([np.array([1]),np.array([2,3])])
jnp.array([jnp.ones(2),jnp.ones(3)])
jnp.array([jnp.ones(2),1.])
jnp.array([[jnp.ones(2)],[1.,2.]])
jnp.array([jnp.float32(1)]*40)
jnp.array([jnp.float32(1),np.float64(2),3,True])
jnp.array([Y,Y],int)
jnp.array([Z,Z],float)
jnp.array([jnp.ones(()),None])
jnp.array(Y,'int8')
jnp.array(Z,int)
jnp.asarray(Z,'float32')
jnp.array(np.array([1j]),int)
jnp.array(Y>1,int)
jnp.array([1.5],dtype='bfloat16')
jnp.array(np.matrix([[1,2]]))
jnp.sin(np.matrix([[1.,2]]))
jnp.array(np.float16(1))*1.0
jnp.array(True)
jnp.array(1+2j)
jnp.float32([1,2])
jnp.float32(1j)
jnp.int8(300)
jnp.int8(Y)
jnp.bool_(2)
jnp.int32(None)
jnp.float32(range(3))
jnp.int8(w)
jnp.complex64([1,2])
jnp.astype([1,2],float)
jnp.astype(1,float)
jnp.astype(Z,float)
jnp.astype(Y,None)
jnp.astype(Y,'int8',copy=True)
Y.astype(None)
jnp.copy([1,2])
jnp.copy(1)
jnp.copy(w)
jnp.copy(range(3))
"""
