from fasttree.estimators.common.labelling import LabelledModel
class AdditiveViews(LabelledModel):
    pass
